/** What an instrumented server's memory and latency depend on besides its code. Anyone's, so nothing is taken for granted. */
import type { ServerDescription } from '../../protocol/result/server-schema.ts';
import type { AnyServer } from '../any-server.ts';

/** How a server describes itself; any but the included one leaves this out. */
export type Tuned = Pick<ServerDescription, 'kind' | 'tunings'>;

const OWN: Tuned = { kind: 'own', tunings: {} };

/** Options without public names, which other versions of Socket.IO may lack. */
interface Options {
  engine: { opts?: Record<string, unknown> };
  opts?: Record<string, unknown>;
}

const OF_ENGINE = ['transports', 'allowUpgrades', 'pingInterval', 'pingTimeout', 'maxHttpBufferSize'];

export function describeServer(io: AnyServer, tuned = OWN): ServerDescription {
  const { engine, opts = {} } = io as unknown as Options;
  const options = {
    ...Object.fromEntries(OF_ENGINE.map((name) => [name, text(engine.opts?.[name])])),
    // Off unless set.
    perMessageDeflate: text(engine.opts?.perMessageDeflate ?? false),
    httpCompression: text(engine.opts?.httpCompression ?? false),
    connectionStateRecovery: text(opts.connectionStateRecovery ?? false),
    parser: opts.parser === undefined ? 'default' : 'custom',
    nodeFlags: nodeFlags(process.execArgv, process.env.NODE_OPTIONS).join(' ') || 'none',
  };
  return { ...tuned, options };
}

/**
 * @param options as in NODE_OPTIONS
 * @returns flags with their numbers; all other values are left out, since they can be paths or secrets
 */
export function nodeFlags(args: string[], options = ''): string[] {
  const flags = [...args, ...options.split(/\s+/)].filter((flag) => flag.startsWith('-'));
  return flags.map((flag) => (/^[^=]+=\d+$/.test(flag) ? flag : (flag.split('=')[0] as string)));
}

function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(', ');
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}
