/** Describes the options of an instrumented server that affect memory and latency. Works for any server and version of Socket.IO. */
import type { ServerDescription } from '../../protocol/result/server-schema.ts';
import type { AnyServer } from '../any-server.ts';

/** Description that only the bundled server gives of itself. */
export type Tuned = Pick<ServerDescription, 'kind' | 'tunings'>;

const OWN: Tuned = { kind: 'own', tunings: {} };

/** Private members, which other versions of Socket.IO may lack. */
interface Options {
  engine: { opts?: Record<string, unknown> };
  opts?: Record<string, unknown>;
}

const ENGINE_OPTIONS = ['transports', 'allowUpgrades', 'pingInterval', 'pingTimeout', 'maxHttpBufferSize'];

export function describeServer(io: AnyServer, tuned = OWN): ServerDescription {
  const { engine, opts = {} } = io as unknown as Options;
  const options = {
    ...Object.fromEntries(ENGINE_OPTIONS.map((name) => [name, text(engine.opts?.[name])])),
    // Off unless set.
    perMessageDeflate: text(engine.opts?.perMessageDeflate ?? false),
    httpCompression: text(engine.opts?.httpCompression ?? false),
    connectionStateRecovery: text(opts.connectionStateRecovery ?? false),
    parser: opts.parser === undefined ? 'default' : 'custom',
    nodeFlags: nodeFlags(process.execArgv, process.env.NODE_OPTIONS).join(' ') || 'none',
  };
  return { ...tuned, options };
}

/** Returns the flags, with numeric values only: other values can be paths or secrets. @param options as in NODE_OPTIONS */
export function nodeFlags(args: string[], options = ''): string[] {
  const flags = [...args, ...options.split(/\s+/)].filter((flag) => flag.startsWith('-'));
  return flags.map((flag) => (/^[^=]+=\d+$/.test(flag) ? flag : (flag.split('=')[0] as string)));
}

function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(', ');
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}
