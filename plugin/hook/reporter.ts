/**
 * Diverts the output of Artillery's reporter, about a hundred lines of metrics, and of `ensure` into a file in the result's folder.
 * All other log lines are still printed.
 */
import { format, stripVTControlCharacters } from 'node:util';
import { withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import type { RunFiles } from '../run/folder/run-files.ts';
import { type ArtilleryEvents, artillery } from './artillery-hooks.ts';

export const ARTILLERY_LOG = 'artillery.log';

/** Matches lines of Artillery's report, which it prints before plugins receive the event (2.0.34). */
const REPORTED = /^\s*(Phase (started|completed): |Checks:)/;

/**
 * Relies on Artillery calling plugins just before its reporter, in the same turn of the event loop (2.0.34). In a version that does
 * not, the lines would appear on the screen.
 * @param name name of the file in `files`
 */
export function divertReporter(events: ArtilleryEvents, files: RunFiles, name: string): void {
  const { globalEvents } = artillery();
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
  // Emitted in the same turn as `done`. Plugins print from here on, so their lines are no longer diverted.
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
