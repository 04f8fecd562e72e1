/**
 * Runs the flow of the new scenario with two clients, and publishes with a third client if needed. Records the events
 * of the server.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { printable } from '../../../protocol/base/printable.ts';
import { formatProblems, type Problem } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Heard, Message } from '../../run/broadcasts/find-paths.ts';
import { publisherClosed } from '../../run/broadcasts/trial.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import { NeedsOptions, Refused, speaksSocketIo2, Unsupported } from '../../run/receivers/explain-failure.ts';
import { type Acknowledged, Publishers, type ReceivedByPublisher } from '../../run/receivers/publishers.ts';
import { RunClients } from '../../run/receivers/run-clients.ts';
import { pause } from '../../run/wait.ts';
import { connectionTargetOf } from '../../script/connection-target.ts';
import { type EngineOptions, parseEngineOptions } from '../../script/options/engine-options.ts';
import { readScenarios } from '../../script/scenarios.ts';
import { ENGINE } from '../../script/script.ts';
import { STEPS } from '../../virtual-user/steps/index.ts';
import { badOption } from '../command.ts';
import { type Emitted, ownRoom, type Told, toldTo } from './own-room.ts';
import { APART, ASKED, type Closed, closedError, FAILED_STEP, MISSED, NotAdmitted } from './refusals.ts';
import { engineOptionsOf, type Starter } from './starter-scenario.ts';

/** Smallest number of events to publish. Several are needed to see that their ids differ. */
const PUBLISHED = 4;
const MAX_WORDS_LENGTH = 1000;
const MAX_EXAMPLE_LENGTH = 200;

/**
 * Runs the flow with two clients. If `publish` is given, a third client emits it several times.
 * @returns the received events and acknowledgements
 */
export async function listen({ url, flow, publish, ...starter }: Starter, seconds: number) {
  const problems: Problem[] = [];
  const engines = { [ENGINE]: engineOptionsOf(starter) };
  const options = parseEngineOptions({ config: { target: url, engines } }, problems);
  problems.push(...readScenarios({ config: { target: url }, scenarios: [{ engine: ENGINE, flow }] }, STEPS).problems);
  if (!options || problems.length > 0) {
    throw badOption(formatProblems(problems).trimStart(), 'init');
  }
  const clients = await clientsThat(flow, options);
  const { signal } = new AbortController();
  const opened: { close(): void }[] = [];
  /** Emitted events, with the arguments of their acknowledgement. */
  const acknowledged: Message[] = [];
  const heardBy = (list: Message[]) => (event: string, args: unknown[]) => {
    list.push({ event, args, receivedAtUs: monotonicUs() });
  };
  let first: Message[] | undefined;
  let last: Message | undefined;
  const closed: Closed[] = [];
  let wanted = ASKED;
  /** Room to which each published id was sent. Undefined if nothing is published, or without ids. */
  let published: Map<string, string> | undefined;
  /** Candidates for a client's room; undefined if the published event has no room. */
  let told: Told[] | undefined;
  let publisher: Acknowledged[] = [];
  let toPublisher: readonly ReceivedByPublisher[] = [];
  const found = new AbortController();
  const open = async () => {
    const messages: Message[] = [];
    first ??= messages;
    const onEvent = heardBy(messages);
    const onAny = (event: string, args: unknown[]) => {
      onEvent(event, args);
      last = messages.at(-1);
      if (messages === first && told && published && ownRoom([{ args }], published, told)) found.abort();
    };
    const { socket, variables: learned = {} } = await connectClient(clients.nextReceiver(), signal, {
      onAny,
      onAck: heardBy(acknowledged),
    });
    const openedAtMs = performance.now();
    void socket.ended.then(() => {
      const { ending } = socket;
      if (ending) closed.push({ ending, afterSeconds: (performance.now() - openedAtMs) / 1000 });
    });
    opened.push({ close: () => void socket.disconnect() });
    return { messages, learned };
  };
  const requireOpen = () => {
    const [earliest, ...others] = closed;
    if (earliest)
      throw closedError(url, earliest, {
        emitted: flow.flatMap((step) => eventOf(step) ?? []),
        isOnly: others.length === 0,
      });
  };
  try {
    const one = await open();
    // A client that is refused after this point had the same login as the first client, which was accepted.
    wanted = APART;
    const other = await open();
    const heard: Heard = [one.messages, other.messages];
    const ended = pause(seconds * 1000, signal);
    if (publish) {
      const options = { emit: publish, acknowledge: true, every: 0, count: 0, users: 1 };
      const publishers = await Publishers.connect(clients, options, signal);
      opened.push(publishers);
      if (publishers.givesIds) published = new Map();
      if (publishers.givesRooms)
        told = toldTo(heard, emittedOf(flow, acknowledged), [one.learned, other.learned], namespaceOf(flow));
      options.count = Math.max(PUBLISHED, told?.length ?? 0);
      options.every = seconds / (options.count + 1);
      const rooms = told?.map(({ room }) => room);
      let failed: number | undefined;
      await publishers.publish(
        ({ id, room }) => published?.set(id, room),
        (seq) => (failed ??= seq),
        found.signal,
        rooms,
      );
      publisher = publishers.acknowledged;
      toPublisher = publishers.received;
      const [by] = publishers.clients;
      requireOpen();
      if (by && !by.socket.connected && (failed === 1 || failed === 2))
        throw await publisherClosed(by.socket, publish.event, failed === 2);
    }
    wanted = ASKED;
    await ended;
    requireOpen();
    return { heard, acknowledged, published, publisher, toPublisher, told };
  } catch (error) {
    if (!(error instanceof CapacityError) || error.code !== 'TARGET_UNREACHABLE') throw error;
    if (error instanceof Unsupported || closed.length > 0) throw error;
    if (error instanceof Refused) await requireSupported(url, starter.path);
    const words = last ? `. It sent ${printable(said([last.event, ...last.args]), MAX_WORDS_LENGTH)}` : '';
    const message = error.message + words;
    if (error instanceof Refused && error.dependsOnClient) {
      const fix = error.step?.startsWith('failed_') ? FAILED_STEP : wanted;
      throw new NotAdmitted(message, fix, error.step);
    }
    const fix = `${error.fix};\n  ${MISSED}`;
    if (error instanceof NeedsOptions) throw new NeedsOptions(message, fix, error.options);
    throw new CapacityError(error.code, message, fix);
  } finally {
    for (const one of opened) one.close();
  }
}

/**
 * Checks the server's protocol.
 * @throws Unsupported if the server uses Socket.IO 2, which cannot be measured
 */
export async function requireSupported(url: string, path: string | undefined): Promise<void> {
  const { origin } = new URL(url);
  const engines = { [ENGINE]: engineOptionsOf(path === undefined ? {} : { path }) };
  const options = parseEngineOptions({ config: { target: origin, engines } }, []);
  if (options && (await speaksSocketIo2(connectionTargetOf(options)))) throw new Unsupported(origin);
}

/** Returns clients that play the flow of the new scenario when they connect. */
function clientsThat(flow: Starter['flow'], engineOptions: EngineOptions): Promise<RunClients> {
  const { url: target } = engineOptions.connection;
  const connection = connectionTargetOf(engineOptions);
  const ackEvents = flow.flatMap((step) => eventOf(step) ?? []);
  const settings = { connection, engineOptions, ackEvents, target, tls: false, ...{ engine: ENGINE, external: false } };
  const unset = { clients: undefined, delivery: undefined };
  return RunClients.open({ ...settings, ...unset }, { config: { target }, scenarios: [{ engine: ENGINE, flow }] });
}

/** Returns the events that the flow emits, each with its first acknowledgement. */
function emittedOf(flow: Starter['flow'], answers: Message[]): Emitted[] {
  return flow.flatMap((step) => {
    const event = eventOf(step);
    const answer = answers.find((one) => one.event === event)?.args;
    return event ? [{ event, args: (step.emit as unknown[]).slice(1), answer }] : [];
  });
}

export function said(values: unknown[]): string {
  return printable(JSON.stringify(values), MAX_EXAMPLE_LENGTH);
}

function namespaceOf(flow: Starter['flow']): string | undefined {
  const { connect } = flow.find((step) => 'connect' in step) ?? {};
  return (connect as { namespace?: string } | undefined)?.namespace;
}

export function eventOf({ emit }: Starter['flow'][number]): string | undefined {
  return Array.isArray(emit) ? String(emit[0]) : undefined;
}
