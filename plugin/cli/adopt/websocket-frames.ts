/** Converts scenarios of Artillery's WebSocket engine that write Socket.IO packets by hand: `send: '42["join", "news"]'`. */
import { isDeepStrictEqual } from 'node:util';
import type { InputProblem, ProblemPath } from '../../../protocol/base/problems.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { ENGINE_SETTINGS_PATH } from '../../script/options/rewrites.ts';
import { DEFAULT_SOCKETIO_PATH, ENGINE_IO_QUERY_KEYS } from '../init/har/recorded-connections.ts';
import type { AdoptionDraft } from './draft.ts';

type Step = Record<string, unknown>;

/** Matches a Socket.IO packet: type, namespace, acknowledgement id, and JSON. */
const PACKET = /^4([012])(?:(\/[^,[{]*),?)?(\d*)([[{].*)?$/s;
/** Matches a packet of Engine.IO: a ping, or a step of the upgrade. */
const ENGINE_PACKET = /^[1-6](probe)?$/;
/** Matches a template that is a whole value of the JSON and has no quotes. */
const UNQUOTED = /(?<=[[,:]\s*)(\{\{[^{}]*\}\})(?=\s*[\],}])/g;
const OPENS = '0';
const CLOSES = '1';
const SPEAKS = 'the engine speaks the protocol of Socket.IO';

/**
 * Replaces Socket.IO packets in the steps of flows by steps of this engine.
 * @returns indexes of the scenarios that contained packets
 * @throws CapacityError for packets of Socket.IO 2
 */
export function replaceWebSocketFrames(draft: AdoptionDraft): number[] {
  const { config, scenarios } = draft.scenario();
  const spoken = [...scenarios.entries()].flatMap(([index, { engine = config.engine ?? 'ws', flow }]) =>
    engine === 'ws' && framesIn(flow) ? index : [],
  );
  if (spoken.length === 0) return [];
  const { origin, ...options } = optionsOf(String(config.target), '');
  const { headers } = Object(config.ws);
  if (origin !== '' && origin !== config.target)
    draft.set(['config', 'target'], origin, 'the path and the query of Engine.IO are options');
  Object.assign(options, headers && { headers });
  if (Object.keys(options).length > 0) draft.document.set(ENGINE_SETTINGS_PATH, options);
  for (const index of spoken) rewriteSteps(draft, ['scenarios', index, 'flow'], origin);
  return spoken;
}

function framesIn(flow: unknown): boolean {
  return [flow ?? []].flat().some((step) => PACKET.test(frameOf(step) ?? '') || framesIn(Object(step).loop));
}

function frameOf(step: unknown): string | undefined {
  const { send } = Object(step);
  const sent = send?.payload ?? send;
  return ['string', 'number'].includes(typeof sent) ? String(sent) : undefined;
}

/**
 * Returns the connection options that the URL or path of a WebSocket contains. The origin is empty if it is a template.
 */
function optionsOf(text: string, base: string) {
  const url = tryOrUndefined(() => new URL(text, base || undefined));
  if (!url) return { origin: '' };
  if (url.searchParams.get('EIO') === '3')
    throw new CapacityError('CONFIG_INVALID', `${text}: EIO=3 is Socket.IO 2, which is not supported`);
  const query = Object.fromEntries([...url.searchParams].filter(([name]) => !ENGINE_IO_QUERY_KEYS.has(name)));
  const isOwnPath = !['/', DEFAULT_SOCKETIO_PATH, DEFAULT_SOCKETIO_PATH.slice(0, -1)].includes(url.pathname);
  return {
    origin: url.origin.replace(/^ws/, 'http'),
    ...(isOwnPath && { path: url.pathname }),
    ...(Object.keys(query).length > 0 && { query }),
  };
}

function rewriteSteps(draft: AdoptionDraft, at: ProblemPath, origin: string): void {
  const steps = draft.document.valueAt(at) as Step[];
  let connect: Step | undefined;
  const become = steps.map((step, index): Step | undefined => {
    if (Array.isArray(step.loop)) rewriteSteps(draft, [...at, index, 'loop'], origin);
    if ('connect' in step) {
      connect = { ...step, connect: handshakeOf(step.connect, origin) };
      return connect;
    }
    const frame = frameOf(step);
    const [, type, namespace, id, json] = PACKET.exec(frame ?? '') ?? [];
    if (type === undefined) return frame !== undefined && ENGINE_PACKET.test(frame) ? undefined : step;
    if (type === CLOSES) return { disconnect: true };
    const data: unknown = json && tryOrUndefined(() => JSON.parse(json.replace(UNQUOTED, '"$1"')));
    if (type === OPENS) {
      const options = { ...(namespace && { namespace }), ...(data ? { auth: data } : {}) };
      if (!connect) return { connect: Object.keys(options).length > 0 ? options : true };
      if (Object.keys(options).length > 0) connect.connect = { ...Object(connect.connect), ...options };
      connect = undefined;
      return undefined;
    }
    if (!Array.isArray(data)) return step;
    return { emit: data, ...(namespace && { namespace }), ...(id !== '' && { acknowledge: true }) };
  });
  for (const [index, step] of become.entries()) {
    if (!step || isDeepStrictEqual(step, steps[index]) || 'loop' in step) continue;
    const path = [...at, index, Object.keys(steps[index] as Step)[0] as string];
    const problem: InputProblem = { path: '', message: SPEAKS, at: path, rewrite: () => ({ owner: step }) };
    const change = draft.document.rewrite(problem);
    if (change) draft.changes.push({ ...change, why: SPEAKS });
  }
  for (const index of [...become.keys()].reverse()) if (!become[index]) draft.remove([...at, index], SPEAKS);
}

/** Returns the `connect` options for a WebSocket's URL. */
function handshakeOf(value: unknown, origin: string): unknown {
  const { target, url = target, ...others } = typeof value === 'string' ? { url: value } : Object(value);
  if (typeof url !== 'string') return value;
  const { origin: own, ...found } = optionsOf(url, origin);
  // A URL that names a different server is kept. The check of the scenario suggests a fix.
  if (own !== '' && own !== origin) return value;
  const options = { ...others, ...found };
  return Object.keys(options).length > 0 ? options : true;
}
