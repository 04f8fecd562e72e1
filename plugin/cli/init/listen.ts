/**
 * Runs the flow of the new scenario with two clients, and publishes with a third client if needed. Records the events
 * of the server.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { formatProblems, type InputProblem } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { ReceivedByTwo, ReceivedMessage } from '../../run/broadcasts/find-paths.ts';
import { publisherClosed } from '../../run/broadcasts/trial.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import {
  OtherOptionsNeededError,
  RefusedError,
  speaksSocketIo2,
  UnsupportedServerError,
} from '../../run/receivers/explain-failure.ts';
import { Publishers, type ReceivedAck, type ReceivedByPublisher } from '../../run/receivers/publishers.ts';
import { RunClients } from '../../run/receivers/run-clients.ts';
import { abortablePause } from '../../run/wait.ts';
import { connectionTargetOf } from '../../script/connection-target.ts';
import { type EngineOptions, parseEngineOptions } from '../../script/options/engine-options.ts';
import { readScenarios } from '../../script/scenarios.ts';
import { ENGINE_NAME } from '../../script/script.ts';
import { STEP_KINDS } from '../../virtual-user/steps/index.ts';
import { invalidOptionError } from '../command.ts';
import { type EmittedEvent, findClientRoom, type RoomCandidate, roomCandidates } from './client-room.ts';
import {
  type AcceptedThenClosed,
  ClientRefusedError,
  CREDENTIALS_FIX,
  FAILED_STEP_FIX,
  SEPARATE_USERS_FIX,
  serverClosedError,
  WRONG_URL_FIX,
} from './refusals.ts';
import { engineOptionsOf, type StarterOptions } from './starter-scenario.ts';

/** Smallest number of events that `init` publishes. Several are needed to see that their ids differ. */
const PUBLISHED = 4;
const MAX_WORDS_LENGTH = 1000;
const MAX_EXAMPLE_LENGTH = 200;

/**
 * Runs the flow with two clients. If `publish` is given, a third client emits this event several times.
 * @returns the events and acknowledgements that the clients received
 */
export async function recordTwoClients({ url, flow, publish, ...starter }: StarterOptions, seconds: number) {
  const problems: InputProblem[] = [];
  const engines = { [ENGINE_NAME]: engineOptionsOf(starter) };
  const options = parseEngineOptions({ config: { target: url, engines } }, problems);
  problems.push(
    ...readScenarios({ config: { target: url }, scenarios: [{ engine: ENGINE_NAME, flow }] }, STEP_KINDS).problems,
  );
  if (!options || problems.length > 0) {
    throw invalidOptionError(formatProblems(problems).trimStart(), 'init');
  }
  const clients = await clientsThat(flow, options);
  const { signal } = new AbortController();
  const opened: { close(): void }[] = [];
  /** Emitted events, with the arguments of their acknowledgement. */
  const acknowledged: ReceivedMessage[] = [];
  const heardBy = (list: ReceivedMessage[]) => (event: string, args: unknown[]) => {
    list.push({ event, args, receivedAtUs: monotonicUs() });
  };
  let first: ReceivedMessage[] | undefined;
  let last: ReceivedMessage | undefined;
  const closed: AcceptedThenClosed[] = [];
  let wanted = CREDENTIALS_FIX;
  /**
   * Room to which each published id was sent. Undefined if nothing is published, or if the published messages have no
   * ids.
   */
  let published: Map<string, string> | undefined;
  /** Values that may be a client's room; undefined if the published event has no room. */
  let told: RoomCandidate[] | undefined;
  let publisher: ReceivedAck[] = [];
  let toPublisher: readonly ReceivedByPublisher[] = [];
  const found = new AbortController();
  const open = async () => {
    const messages: ReceivedMessage[] = [];
    first ??= messages;
    const onEvent = heardBy(messages);
    const onAny = (event: string, args: unknown[]) => {
      onEvent(event, args);
      last = messages.at(-1);
      if (messages === first && told && published && findClientRoom([{ args }], published, told)) found.abort();
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
      throw serverClosedError(url, earliest, {
        emitted: flow.flatMap((step) => emittedEventOf(step) ?? []),
        isOnly: others.length === 0,
      });
  };
  try {
    const one = await open();
    // A client that the server refuses from here on used the same login as the first client, which the server accepted.
    wanted = SEPARATE_USERS_FIX;
    const other = await open();
    const heard: ReceivedByTwo = [one.messages, other.messages];
    const ended = abortablePause(seconds * 1000, signal);
    if (publish) {
      const options = { emit: publish, acknowledge: true, every: 0, count: 0, users: 1 };
      const publishers = await Publishers.connect(clients, options, signal);
      opened.push(publishers);
      if (publishers.givesIds) published = new Map();
      if (publishers.givesRooms)
        told = roomCandidates(heard, emittedOf(flow, acknowledged), [one.learned, other.learned], namespaceOf(flow));
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
    wanted = CREDENTIALS_FIX;
    await ended;
    requireOpen();
    return { heard, acknowledged, published, publisher, toPublisher, told };
  } catch (error) {
    if (!(error instanceof CapacityError) || error.code !== 'TARGET_UNREACHABLE') throw error;
    if (error instanceof UnsupportedServerError || closed.length > 0) throw error;
    if (error instanceof RefusedError) await requireSupportedProtocol(url, starter.path);
    const words = last ? `. It sent ${printableLine(valuesText([last.event, ...last.args]), MAX_WORDS_LENGTH)}` : '';
    const message = error.message + words;
    if (error instanceof RefusedError && error.dependsOnClient) {
      const fix = error.step?.startsWith('failed_') ? FAILED_STEP_FIX : wanted;
      throw new ClientRefusedError(message, fix, error.step);
    }
    const fix = `${error.fix};\n  ${WRONG_URL_FIX}`;
    if (error instanceof OtherOptionsNeededError) throw new OtherOptionsNeededError(message, fix, error.options);
    throw new CapacityError(error.code, message, fix);
  } finally {
    for (const one of opened) one.close();
  }
}

/**
 * Checks the server's protocol.
 * @throws UnsupportedServerError if the server uses Socket.IO 2, which cannot be measured
 */
export async function requireSupportedProtocol(url: string, path: string | undefined): Promise<void> {
  const { origin } = new URL(url);
  const engines = { [ENGINE_NAME]: engineOptionsOf(path === undefined ? {} : { path }) };
  const options = parseEngineOptions({ config: { target: origin, engines } }, []);
  if (options && (await speaksSocketIo2(connectionTargetOf(options)))) throw new UnsupportedServerError(origin);
}

/** Returns clients that play the flow of the new scenario when they connect. */
function clientsThat(flow: StarterOptions['flow'], engineOptions: EngineOptions): Promise<RunClients> {
  const { url: target } = engineOptions.connection;
  const connection = connectionTargetOf(engineOptions);
  const ackEvents = flow.flatMap((step) => emittedEventOf(step) ?? []);
  const settings = {
    connection,
    engineOptions,
    ackEvents,
    target,
    tls: false,
    ...{ engine: ENGINE_NAME, external: false },
  };
  const unset = { clients: undefined, delivery: undefined };
  return RunClients.open({ ...settings, ...unset }, { config: { target }, scenarios: [{ engine: ENGINE_NAME, flow }] });
}

/** Returns the events that the flow emits, each with its first acknowledgement. */
function emittedOf(flow: StarterOptions['flow'], answers: ReceivedMessage[]): EmittedEvent[] {
  return flow.flatMap((step) => {
    const event = emittedEventOf(step);
    const answer = answers.find((one) => one.event === event)?.args;
    return event ? [{ event, args: (step.emit as unknown[]).slice(1), answer }] : [];
  });
}

export function valuesText(values: unknown[]): string {
  return printableLine(JSON.stringify(values), MAX_EXAMPLE_LENGTH);
}

function namespaceOf(flow: StarterOptions['flow']): string | undefined {
  const { connect } = flow.find((step) => 'connect' in step) ?? {};
  return (connect as { namespace?: string } | undefined)?.namespace;
}

export function emittedEventOf({ emit }: StarterOptions['flow'][number]): string | undefined {
  return Array.isArray(emit) ? String(emit[0]) : undefined;
}
