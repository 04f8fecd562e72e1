/** Builds the package out of `../instrument.ts`: a file for `import`, one for `require`, and the types of both. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });

const options = {
  // The same single export as the types have.
  stdin: { contents: "export { instrument } from './instrument.ts';", resolveDir: '..' },
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node18',
};
await build({ ...options, format: 'esm', outfile: 'dist/instrument.js' });
// CommonJS has no import.meta; a path works as well as a URL where the code uses it.
await build({ ...options, format: 'cjs', outfile: 'dist/instrument.cjs', define: { 'import.meta.url': '__filename' } });

execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
for (const ending of ['ts', 'cts']) copyFileSync('dist/types/server/instrument.d.ts', `dist/instrument.d.${ending}`);
rmSync('dist/types', { recursive: true });
