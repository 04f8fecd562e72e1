/**
 * Latency against connections: a few broadcasts each time that a part of the connections has left. Not as they come: what
 * broadcasts leave behind in the workers, some percent of what the connections take, would be in the memory of all later plateaus.
 */
import { RELEASE_PARTS } from '../../../protocol/link/messages.ts';
import { destinationOf, roomName } from '../../../protocol/rooms.ts';
import type { RunContext } from '../context.ts';
import { until } from '../wait.ts';
import { drain } from './drain.ts';
import { withLostMembers } from './lost-members.ts';
import { publish, type SentBroadcast } from './publish.ts';

const LEAVE_TIMEOUT_MS = 120_000;
/** Longer than the fleet's and the engine's status intervals together. */
const QUIET_MS = 1000;

/** After everything that needs all connections; all but the last part have left then. Nothing where the scenario asks for none. */
export async function measureByConnections(context: RunContext): Promise<void> {
  const { config, measurements, link, population, probe, signal } = context;
  const { byConnections: count } = config.broadcasts;
  if (count === 0 || measurements.sent.length === 0 || measurements.fault || signal.aborted) return;
  // These are no round trips with all connections.
  probe.onRoundTrip = () => {};
  const { sent, frozen } = measurements;
  let connections = population.connections();
  measurements.byConnections.push({ connections, sent, frozen });
  for (let part = 1; part < RELEASE_PARTS; part++) {
    link.tell({ type: 'release', parts: part });
    await nobodyLeaves(context);
    if (signal.aborted) return;
    // Of very few connections, a part can be empty, or the last one.
    if (population.connections() === connections || population.connections() === 0) continue;
    connections = population.connections();
    await measureLevel(context, connections, config.broadcasts.count + (part - 1) * count + 1);
  }
}

async function measureLevel(context: RunContext, connections: number, firstSeq: number): Promise<void> {
  const { config, measurements, control, link, clocks, record, signal } = context;
  const { byConnections: count, interval, bytes, binary } = config.broadcasts;
  const to = Array.from({ length: count }, (_, index) => {
    const { room, via } = destinationOf(config.rooms, index, measurements.workersAtStart.length);
    return { room: roomName(config.rooms, room), via };
  });
  const reachedBefore = link.reached;
  const sent: SentBroadcast[] = [];
  await clocks.read();
  await publish(
    control,
    { to, firstSeq, intervalMs: interval * 1000, bytes, binary, clocks: clocks.lines },
    {
      onSent: (one) => sent.push(one),
      onFailed: (unsent) => measurements.unsent.push(unsent),
    },
    signal,
  );
  await drain(context, reachedBefore, sent);
  if (signal.aborted) return;
  await clocks.read();
  const settled = sent.map((one) => ({
    ...one,
    sentAtUs: clocks.lines[one.via]?.toOurs(one.stampedAtUs) ?? one.stampedAtUs,
  }));
  const rows = await link.freeze(
    settled.map(({ seq, room, worker, sentAtUs, intendedAtUs }) => ({ seq, room, worker, sentAtUs, intendedAtUs })),
  );
  const frozen = withLostMembers(rows, { ...measurements, sent: settled });
  measurements.byConnections.push({ connections, sent: settled, frozen });
  record.append('by-connections', { connections, sent: settled });
}

/** They leave at the scenario's rate. */
async function nobodyLeaves({ link, signal }: RunContext): Promise<void> {
  let before = link.status.connected;
  let sinceMs = performance.now();
  const isQuiet = () => {
    const { connected } = link.status;
    if (connected !== before) sinceMs = performance.now();
    before = connected;
    return performance.now() - sinceMs >= QUIET_MS;
  };
  await until(isQuiet, LEAVE_TIMEOUT_MS, signal);
}
