/** The rooms of the code, which are folders, and what the files of each may import: the table of CONTRIBUTING.md. */

/** The longest matching folder owns a file. `server/stack` is listed separately, as few rooms can start a stack. */
export const MAY_IMPORT: Record<string, string[]> = {
  protocol: [],
  'plugin/script': ['protocol'],
  'plugin/fleet': ['protocol'],
  'plugin/virtual-user': ['protocol', 'plugin/script', 'plugin/fleet'],
  'plugin/engine': ['protocol', 'plugin/script', 'plugin/fleet', 'plugin/virtual-user'],
  'plugin/samplers': ['protocol'],
  'plugin/run': ['protocol', 'plugin/script', 'plugin/fleet', 'plugin/virtual-user', 'plugin/samplers', 'server/stack'],
  'plugin/result': ['protocol', 'report', 'plugin/script', 'plugin/samplers', 'plugin/run'],
  'plugin/doctor': ['protocol', 'report', 'plugin/script', 'plugin/samplers', 'plugin/run', 'server/stack'],
  'plugin/live': ['protocol', 'report', 'plugin/script', 'plugin/samplers', 'plugin/run', 'plugin/result'],
  'plugin/conduct': [
    'protocol',
    'report',
    'plugin/script',
    'plugin/samplers',
    'plugin/run',
    'plugin/result',
    'plugin/doctor',
    'plugin/live',
    'server',
    'server/stack',
  ],
  'plugin/series': ['protocol', 'report', 'plugin/script', 'plugin/run', 'server/stack'],
  'plugin/cli': [
    'protocol',
    'report',
    'plugin/script',
    'plugin/virtual-user',
    'plugin/run',
    'plugin/result',
    'plugin/doctor',
    'plugin/conduct',
    'plugin/series',
    'server',
    'server/stack',
  ],
  'plugin/hook': [
    'protocol',
    'plugin/script',
    'plugin/virtual-user',
    'plugin/run',
    'plugin/samplers',
    'plugin/result',
    'plugin/doctor',
    'plugin/live',
    'plugin/conduct',
    'report',
  ],
  report: ['protocol'],
  server: ['protocol'],
  'server/stack': ['protocol'],
};

/** The folders with all sources of the table. */
export const SOURCE_FOLDERS = ['protocol', 'plugin', 'report', 'server'];

/** @returns the room of the file; its topmost folder if it is in none */
export function roomOf(path: string): string {
  const rooms = Object.keys(MAY_IMPORT).filter((room) => path.startsWith(`${room}/`));
  return rooms.sort((a, b) => b.length - a.length)[0] ?? path.split('/')[0] ?? path;
}
