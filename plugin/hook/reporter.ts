/**
 * Artillery's reporter prints a hundred lines of metrics for the dozen of an answer. They go to a file beside the result,
 * together with the lines of `ensure`, whose thresholds the answer has; what anything else logs is still printed.
 */
import { format, stripVTControlCharacters } from 'node:util';
import { withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import type { RunFiles } from '../run/folder/run-files.ts';
import { type ArtilleryEvents, artillery } from './artillery-hooks.ts';

export const ARTILLERY_LOG = 'artillery.log';

/** Known by their text, because they are printed before plugins hear of the phase or of the checks (2.0.34). */
const REPORTED = /^\s*(Phase (started|completed): |Checks:)/;

/**
 * Artillery calls plugins just before its reporter, in the same turn of the event loop (2.0.34). If another version does
 * otherwise, its lines are on the screen.
 * @param name of the file, among `files`
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
  // In the turn of `done`, too: from here on, plugins print.
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
