/** Whether a process near its limit of open files has connections in them, or files that it does not close. */

/** Open files of a server beside its connections: modules, pipes and logs take fewer. */
const MIN_OTHER_FILES = 40;
/** Programs with one socket for each connection; a proxy has two. */
const ONE_SOCKET = /^(\S*\/)?(node|bun|deno)\b/;

/**
 * @param connections the largest number that the process can have had. With several processes, each has its share of them
 * @returns how many of its files are no connections; undefined if they may be connections
 */
export function filesBeside(command: string, openFiles: number, connections: number): number | undefined {
  const beside = openFiles - connections;
  return ONE_SOCKET.test(command) && beside > Math.max(connections, MIN_OTHER_FILES) ? beside : undefined;
}

/** @param pid of the running process */
export function leakedFilesFix(pid: number | undefined): string {
  return `find which files the server opens and does not close: \`ls -l /proc/${pid}/fd\` lists them`;
}
