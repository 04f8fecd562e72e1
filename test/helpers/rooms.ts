/** The rooms of the code, which are folders, and what the files of each may import: the table of CONTRIBUTING.md. */

/** The longest matching folder owns a file. `server/stack` is listed apart: only the hook may start a stack. */
export const MAY_IMPORT: Record<string, string[]> = {
  protocol: [],
  'plugin/fleet': ['protocol'],
  'plugin/engine': ['protocol', 'plugin/fleet'],
  'plugin/hook': ['protocol', 'report', 'server/stack'],
  report: ['protocol'],
  server: ['protocol'],
  'server/stack': ['protocol'],
};

/** Where all sources of the table are. */
export const SOURCE_FOLDERS = ['protocol', 'plugin', 'report', 'server'];

/** @returns the room that the file is in; for one outside of all rooms, its topmost folder */
export function roomOf(path: string): string {
  const rooms = Object.keys(MAY_IMPORT).filter((room) => path.startsWith(`${room}/`));
  return rooms.sort((a, b) => b.length - a.length)[0] ?? path.split('/')[0] ?? path;
}
