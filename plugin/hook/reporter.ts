/**
 * Writes the output of Artillery's reporter and of `ensure` to a file in the result's folder, because it has about a
 * hundred lines. All other log lines are still printed.
 */
import { format, stripVTControlCharacters } from 'node:util';
import { withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import type { RunFiles } from '../run/folder/run-files.ts';
import { type ArtilleryEvents, artilleryGlobal } from './artillery-hooks.ts';

export const ARTILLERY_LOG = 'artillery.log';

/** Matches lines of Artillery's report that Artillery prints before plugins receive the event (Artillery 2.0.34). */
const REPORTED = /^\s*(Phase (started|completed): |Checks:)/;

/**
 * Diverts the lines of Artillery's reporter to a file. Artillery calls plugins just before its reporter, in the same
 * turn of the event loop (Artillery 2.0.34). If that changes, the lines appear on the screen.
 * @param name name of the file in `files`
 */
export function divertReporter(events: ArtilleryEvents, files: RunFiles, name: string): void {
  const { globalEvents } = artilleryGlobal();
  const printers = globalEvents.listeners('log');
  let reporting = false;
  let checks = 0;
  const report = () => {
    reporting = true;
    queueMicrotask(() => {
      reporting = false;
    });
  };
  events.on('stats', report);
  events.on('done', report);
  // The event `shutdown:start` follows `done` in the same turn of the event loop. From here on plugins print, and their
  // lines must stay visible.
  globalEvents.prependListener('shutdown:start', () => {
    reporting = false;
  });
  globalEvents.on('checks', ({ length }) => {
    checks = length;
  });
  globalEvents.removeAllListeners('log');
  globalEvents.on('log', (options, ...args) => {
    const text = stripVTControlCharacters(format(...args));
    const isCheck = checks > 0 && checks-- > 0;
    if (isCheck || reporting || REPORTED.test(text)) files.append(name, `${withoutCredentials(text)}\n`);
    else for (const print of printers) print(options, ...args);
  });
}
