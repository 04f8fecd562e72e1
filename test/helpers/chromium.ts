/**
 * Finds the browser for tests. `npm test` runs this file first. If there is no browser and the user is root, it
 * installs Debian's chromium. Exit code 4 means that there is no browser in CI; otherwise it is 0.
 */
import { execa } from 'execa';
import { findTool } from '../../server/stack/tools.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** @returns the path of the browser: `CHROMIUM`, or a common name in PATH; undefined if there is none */
export function findChromium(): string | undefined {
  return process.env.CHROMIUM ?? NAMES.map((name) => findTool(name)).find(Boolean);
}

/** Value of `skip` for tests that need the browser. In CI, these tests fail instead. */
export const noChromium =
  findChromium() === undefined && !process.env.CI && 'no chromium: install it, or name it with CHROMIUM=<path>';

async function setUp(): Promise<number> {
  const found = findChromium();
  if (found) {
    console.log(`chromium found: ${found}`);
    return 0;
  }
  const aptGet = findTool('apt-get');
  if (aptGet && process.getuid?.() === 0) {
    console.log('Installing chromium with apt-get, for the tests of the pages.');
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    await execa(aptGet, ['update', '-q'], { env, reject: false });
    await execa(aptGet, ['install', '-y', '-q', '--no-install-recommends', 'chromium'], { env, reject: false });
    if (findChromium()) return 0;
  }
  console.log('No chromium, and it cannot be installed from here: apt-get install chromium, or CHROMIUM=<path>.');
  if (process.env.CI) return 4;
  console.log('The tests of the pages are left out.');
  return 0;
}

if (import.meta.main) process.exitCode = await setUp();
