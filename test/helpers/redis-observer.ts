/** What Redis' own MONITOR sees, and what the commands that it shows take on the wire. */
import { createClient } from 'redis';

/** @returns when it sees all commands that follow, of all clients: arguments as bytes */
export async function monitorRedis(url: string) {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on('error', () => {});
  await client.connect();
  const commands: Buffer[][] = [];
  await client.monitor((line) => {
    // `1700000000.123456 [0 127.0.0.1:5000] "PUBLISH" "a" "\\x93\\xa6"`
    const [, quoted = ''] = /^[\d.]+ \[[^\]]*\] (.*)$/s.exec(String(line)) ?? [];
    commands.push([...quoted.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, text = '']) => unquoted(text)));
  });
  return { commands, close: () => client.isOpen && client.destroy() };
}

/** @returns bytes of a command in Redis' protocol */
export function bytesOfCommand(args: Buffer[]): number {
  const header = (sign: string, size: number) => `${sign}${size}\r\n`.length;
  return header('*', args.length) + args.reduce((sum, { length }) => sum + header('$', length) + length + 2, 0);
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

function unquoted(text: string): Buffer {
  const latin1 = text.replaceAll(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(latin1, 'latin1');
}
