/** Describes the headline figure of a run in words: the deployment's memory per connection. */
import { SERVER_RUNTIMES, type ServerRuntime } from '../../protocol/documents/server-runtimes.ts';
import type { MemoryPerConnection } from '../../protocol/result/memory-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { hasLeavingUsers } from '../figures/held.ts';
import { isConclusiveCost } from '../figures/per-connection.ts';
import { type Amount, amountText, numberText, withUnit } from '../model/amount.ts';
import { DOUBT_TEXTS } from '../statistics/straightness.ts';
import { integerText } from '../text/format.ts';
import { answerAmount } from './line.ts';

export const COST_KEY = 'memory.perConnection.bytes';

type Processes = Result['processes'];
type Measured = Pick<Result, 'processes' | 'memory'>;

const MORE_CONNECTIONS = 'more connections would narrow it';
const COLLECTS = 'collects it before each reading';
const INSPECTS = `\`workers: { inspect: true }\` ${COLLECTS}`;
/**
 * Text about memory that V8's count of the main heap does not include: worker threads and native memory. More
 * connections in a run do not narrow the interval of such memory.
 */
const BESIDE_V8 = "memory beside V8's main heap hides it (worker threads, native memory)";
/** Advice on how to narrow an interval that is wide because memory includes garbage, by runtime of the workers. */
const NARROWING_ADVICE = {
  node: INSPECTS,
  jvm: INSPECTS,
  go: `with \`net/http/pprof\` in the server, ${INSPECTS}`,
  python: MORE_CONNECTIONS,
  bun: MORE_CONNECTIONS,
  other: `${MORE_CONNECTIONS}; in Node, Deno, Java and Go, \`workers.inspect\` ${COLLECTS}`,
} satisfies Record<ServerRuntime, string>;

/**
 * Returns the runtime of the workers, for advice. If the run measured both a server and the shell that started it, the
 * server's runtime is returned.
 */
function workersRuntime({ measured }: NonNullable<Processes>): ServerRuntime {
  const found = new Set(
    measured.map(({ layer, runtime, holds }) => (layer === 'worker' && holds !== false ? runtime : undefined)),
  );
  return SERVER_RUNTIMES.find((runtime) => found.has(runtime)) ?? 'other';
}

/** Returns how to narrow an interval that is wide because memory includes garbage. */
function withoutGarbage(result: Measured): string {
  if (hasLeavingUsers(result))
    return 'end the flow with `hold: true`: garbage is collected before a reading only while no connection opens or closes';
  return NARROWING_ADVICE[result.processes ? workersRuntime(result.processes) : 'other'];
}

/**
 * Returns the memory per connection with its interval. If the interval is wide, the amount has advice on how to narrow
 * it. A lower bound is marked.
 * @param result figures of the run from which the advice follows, if available
 */
export function costAmount(cost: MemoryPerConnection, result?: Measured): Amount {
  const { bytes, low95, high95, isAtLeast, parts, without, unread, conclusiveRun } = cost;
  const doubtText = DOUBT_TEXTS[without[0]?.doubt ?? 'miscounted'];
  if (bytes === null) return { ...answerAmount(COST_KEY, null), why: `unknown: ${doubtText}` };
  const interval = low95 === null || high95 === null ? undefined : { low95, high95 };
  // The memory that was not read would add to the memory per connection, so the known part is only a lower bound.
  if (isAtLeast) return { ...answerAmount(COST_KEY, isConclusiveCost(cost) ? bytes : low95), isAtLeast: true };
  if (isConclusiveCost(cost))
    return { ...answerAmount(COST_KEY, bytes, interval), ...(unread.length > 0 && { isAtLeast: true }) };
  const between = answerAmount(COST_KEY, null, interval);
  const [doubt] = parts.flatMap((part) => part.doubt ?? []);
  if (doubt) return { ...between, why: DOUBT_TEXTS[doubt] };
  if (conclusiveRun === null && parts.some(({ layer }) => layer === 'workerKept'))
    return { ...between, why: BESIDE_V8 };
  if (conclusiveRun === null)
    return { ...between, why: 'garbage hides it', next: result ? withoutGarbage(result) : NARROWING_ADVICE.other };
  const halfWidth = withUnit('kilobytes', conclusiveRun.halfWidthBytes);
  const next = `${integerText(conclusiveRun.connections)} connections would narrow it to about ± ${halfWidth}`;
  return { ...between, why: 'too few connections to tell', next };
}

/**
 * Returns the note after the memory per connection: `workers 8.5, proxy 13.7, kernel 10.9; garbage included`. Empty if
 * there is nothing to note.
 */
export function costNote(cost: MemoryPerConnection, collected: boolean): string {
  const { bytes, low95, parts, without, unread } = cost;
  // If the memory per connection is unknown, its parts are also unknown.
  const known = isConclusiveCost(cost)
    ? parts.map((part) => `${part.title} ${numberText('kilobytes', part.bytes)}`)
    : [];
  const doubted = parts.flatMap(({ title, doubt }) => (doubt ? `${title}: ${DOUBT_TEXTS[doubt]}` : []));
  const missing = [
    ...without.map(({ title, doubt }) => `${title} unknown: ${DOUBT_TEXTS[doubt]}`),
    ...unread.map((title) => `${title} could not be read`),
  ];
  return [
    bytes !== null && parts.length + missing.length > 1 && [...known, ...missing].join(', '),
    isConclusiveCost(cost) && doubted.join(', '),
    bytes !== null && low95 === null && 'read at two numbers of connections only, so its margin is unknown',
    !collected && isConclusiveCost(cost) && 'garbage included',
  ]
    .filter(Boolean)
    .join('; ');
}

/** Returns, for example, `memory per connection: 33.2 KB ± 2 % (workers 8.5, proxy 13.7, kernel 10.9)`. */
export function costText(cost: MemoryPerConnection, collected: boolean, result?: Measured): string {
  const note = costNote(cost, collected);
  return `memory per connection: ${amountText(costAmount(cost, result))}${note === '' ? '' : ` (${note})`}`;
}
