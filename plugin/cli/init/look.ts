/** `init` looks at what a server sends to connections that do what those of the scenario will do. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { formatJsonPath } from '../../../protocol/base/json-path.ts';
import { printable } from '../../../protocol/base/printable.ts';
import { formatProblems, type Problem } from '../../../protocol/base/problems.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { findId, findPaths, type Heard, type Message, type Paths } from '../../run/broadcasts/find-paths.ts';
import { roomIntoEvent } from '../../run/broadcasts/own-event.ts';
import { publisherClosed } from '../../run/broadcasts/trial.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import { NeedsOptions, Refused, speaksSocketIo2, Unsupported } from '../../run/receivers/explain-failure.ts';
import { type Acknowledged, Publishers, type ReceivedByPublisher } from '../../run/receivers/publishers.ts';
import { RunClients } from '../../run/receivers/run-clients.ts';
import { pause } from '../../run/wait.ts';
import { connectionTargetOf } from '../../script/connection-target.ts';
import { isTemplate } from '../../script/is-template.ts';
import { type EngineOptions, parseEngineOptions } from '../../script/options/engine-options.ts';
import { readScenarios } from '../../script/scenarios.ts';
import { ENGINE } from '../../script/script.ts';
import { STEPS } from '../../virtual-user/steps/index.ts';
import { badOption } from '../command.ts';
import { drawnIn, type Emitted, ownRoom, type Told, toldTo } from './own-room.ts';
import { partlyReached } from './reach.ts';
import { engineOptionsOf, type Starter } from './starter-scenario.ts';

/** A template that draws a value. */
const DRAWS = /\{\{\s*\$random/;
/** Enough to see that ids differ. */
const PUBLISHED = 4;
const MAX_FINDING_LENGTH = 1000;
const MAX_EXAMPLE_LENGTH = 200;

/**
 * A name that the server made never becomes a template: Artillery has no escape for one.
 * @returns the event to count, if there is one, and what arrived, in words
 * @throws CapacityError TARGET_UNREACHABLE
 */
export async function lookAt(starter: Starter, seconds: number) {
  const { flow } = starter;
  const { heard, acknowledged, published, publisher, toPublisher, told } = await listen(starter, seconds);
  const [usable = [], others = []] = heard.map((messages) => messages.filter(({ event }) => !isTemplate(event)));
  // The second client does not receive messages to the first one's room.
  const ids = new Set(published?.keys());
  const shared = findPaths([usable, told ? usable : others], published && ids);
  const partly = shared || told ? undefined : partlyReached([usable, others], toPublisher, ids);
  const found = shared ?? partly?.paths;
  const counted = usable.filter(({ event }) => event === found?.event);
  const own = told && ownRoom(counted, published ?? new Map(), told);
  const delivery = isTemplate([found?.event, found?.id, found?.sentAt]) || (told && !own) ? undefined : found;
  const answers = [
    ...acknowledged.map(({ event, args }) => `It acknowledged ${JSON.stringify(event)} with ${said(args)}. `),
    ...publisher.map(({ text }) => `It acknowledged ${JSON.stringify(starter.publish?.event)} with ${text}. `),
  ];
  const ownAnswers = toPublisher.filter(({ event }) => !heard.flat().some((one) => one.event === event));
  answers.push(
    ...ownAnswers.map(({ event, text }) => `It answered the publisher with ${JSON.stringify(event)} ${text}. `),
  );
  const roomless = usable.find(({ args }) => findId(args, ids) !== undefined);
  const missing = told
    ? roomless
      ? `Its ${JSON.stringify(roomless.event)} carried the published id, but no room: ${roomIntoEvent(roomless.event)}; or, if everybody gets it, leave \`$room\` out of --publish.`
      : 'No event carried an id back to its room: an event of --emit must name the room, not as a template, or the login or the server must tell each client its own.'
    : partly
      ? partly.text
      : heard[0].length === 0
        ? ''
        : published
          ? 'No event carried the published id.'
          : 'No event came to two connections, at least twice, with a new id each time.';
  const apart =
    delivery || !DRAWS.test(JSON.stringify(flow))
      ? ''
      : ' What the flow draws at random can put clients into different rooms: write one room while init looks.';
  const finding = `${[...new Set(answers)].join('')}${findingOf(heard[0], delivery, missing, ownAnswers.length > 0)}`;
  const isLeftOut = isTemplate([found?.id, found?.sentAt]) || usable?.length !== heard[0].length;
  const why = isLeftOut ? ' Names with “{{” cannot be used: Artillery would fill them in.' : '';
  // A handler that calls back without being asked for it throws; of one that does not, an acknowledgement never comes.
  const answering = new Set(acknowledged.map(({ event }) => event));
  const { place, step: learning } = own ?? {};
  const asking = flow.map((step) => ({
    ...(place ? drawnIn(step, place) : step),
    ...(step.acknowledge === undefined && answering.has(eventOf(step) ?? '') && { acknowledge: true }),
  }));
  return {
    flow: [...asking, ...(learning ? [learning] : [])],
    delivery,
    rooms: own?.delivery,
    room: place?.value,
    finding: printable(finding + apart + why, MAX_FINDING_LENGTH),
  };
}

/** @throws Unsupported if no login, and nothing else that a client sends, makes the server one that can be measured */
export async function requireSupported(url: string, path: string | undefined): Promise<void> {
  const { origin } = new URL(url);
  const engines = { [ENGINE]: engineOptionsOf(path === undefined ? {} : { path }) };
  const options = parseEngineOptions({ config: { target: origin, engines } }, []);
  if (options && (await speaksSocketIo2(connectionTargetOf(options)))) throw new Unsupported(origin);
}

/** @param isAnswered the server sent events to the publisher alone */
function findingOf(messages: Message[], delivery: Paths | undefined, missing: string, isAnswered: boolean): string {
  const counts = Map.groupBy(messages, ({ event }) => event);
  const events = [...counts].slice(0, 10).map(([event, [first, ...others]]) => {
    // An event that came once can be the answer to a login.
    const once = others.length === 0 && first ? ` ${said(first.args)}` : '';
    return `${JSON.stringify(event)} (${others.length + 1})${once}`;
  });
  const got =
    events.length > 0
      ? `The server sent ${events.join(', ')}.`
      : `The server sent ${isAnswered ? 'the other clients ' : ''}no event.`;
  const told = `${got} ${missing}`.trimEnd();
  if (!delivery) return told;
  const { event, id, sentAt, unusableTime } = delivery;
  const time = sentAt
    ? `the time at ${formatJsonPath(sentAt)}`
    : unusableTime
      ? `the time at ${formatJsonPath(unusableTime.path)} cannot be used: ${unusableTime.reason}`
      : 'it has no time';
  return `${told} Its ${JSON.stringify(event)} will be counted: the id is at ${formatJsonPath(id)}, ${time}.`;
}

/** Events that the flow emits, with the first answer to each. */
function emittedOf(flow: Starter['flow'], answers: Message[]): Emitted[] {
  return flow.flatMap((step) => {
    const event = eventOf(step);
    const answer = answers.find((one) => one.event === event)?.args;
    return event ? [{ event, args: (step.emit as unknown[]).slice(1), answer }] : [];
  });
}

function said(values: unknown[]): string {
  return JSON.stringify(values).slice(0, MAX_EXAMPLE_LENGTH);
}

/** That the flow opens. */
function namespaceOf(flow: Starter['flow']): string | undefined {
  const { connect } = flow.find((step) => 'connect' in step) ?? {};
  return (connect as { namespace?: string } | undefined)?.namespace;
}

function eventOf({ emit }: Starter['flow'][number]): string | undefined {
  return Array.isArray(emit) ? String(emit[0]) : undefined;
}

/** The connections play the flow, and a further one emits `publish` a few times. */
async function listen({ url, flow, publish, ...starter }: Starter, seconds: number) {
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
  /** Events that a client emitted, with the arguments of the acknowledgement. */
  const acknowledged: Message[] = [];
  const heardBy = (list: Message[]) => (event: string, args: unknown[]) => {
    list.push({ event, args, receivedAtUs: monotonicUs() });
  };
  let first: Message[] | undefined;
  let last: Message | undefined;
  let ending: string | undefined;
  let wanted = ASKED;
  /** Room by published id; undefined without a publisher, or if it sends no ids. */
  let published: Map<string, string> | undefined;
  /** Values tried as a room; undefined if no broadcast goes to a room. */
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
    void socket.ended.then(() => (ending ??= socket.ending?.text));
    opened.push({ close: () => void socket.disconnect() });
    return { messages, learned };
  };
  try {
    const one = await open();
    // A client that is refused now used the same login as the first one.
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
      if (by && !by.socket.connected && (failed === 1 || failed === 2))
        throw await publisherClosed(by.socket, publish.event, failed === 2);
    }
    wanted = ASKED;
    await ended;
    if (ending !== undefined) throw new Refused(url, ending);
    return { heard, acknowledged, published, publisher, toPublisher, told };
  } catch (error) {
    if (!(error instanceof CapacityError) || error.code !== 'TARGET_UNREACHABLE') throw error;
    if (error instanceof Unsupported) throw error;
    const words = last ? `. It sent ${printable(said([last.event, ...last.args]), MAX_FINDING_LENGTH)}` : '';
    const message = error.message + words;
    const fix = error instanceof Refused && error.dependsOnClient ? wanted : `${error.fix};\n  ${MISSED}`;
    if (error instanceof NeedsOptions) throw new NeedsOptions(message, fix, error.options);
    throw new CapacityError(error.code, message, fix);
  } finally {
    for (const one of opened) one.close();
  }
}

const UNSEEN = 'or write the scenario without looking at the server: --listen 0';
const ASKED = [
  'give what the server asks for: --namespace /chat, --auth \'{"username": "ann"}\',',
  '--headers \'{"Authorization": "Bearer …"}\', --emit \'["login", "ann"]\',',
  '--login \'{"post": {"url": "/login", "json": {"user": "ann", "password": "…"}}}\';',
  UNSEEN,
].join('\n  ');
const APART = `the client before it was let in: give each a user of its own, as --auth '{"username": "{{ $uuid }}"}';
  ${UNSEEN}, and add a payload of users`;
const MISSED = `or correct --url or --path, or give what it asks for (--auth, --headers, --login); ${UNSEEN}`;

/** They come by the flow of the scenario to be. */
function clientsThat(flow: Starter['flow'], engineOptions: EngineOptions): Promise<RunClients> {
  const { url: target } = engineOptions.connection;
  const connection = connectionTargetOf(engineOptions);
  const ackEvents = flow.flatMap((step) => eventOf(step) ?? []);
  const settings = { connection, engineOptions, ackEvents, target, tls: false, ...{ engine: ENGINE, external: false } };
  const unset = { clients: undefined, delivery: undefined };
  return RunClients.open({ ...settings, ...unset }, { config: { target }, scenarios: [{ flow }] });
}
