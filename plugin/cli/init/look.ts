/** `init` looks at what a server sends to connections that do what those of the scenario will do. */
import { randomUUID } from 'node:crypto';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { formatJsonPath } from '../../../protocol/json-path.ts';
import { printable } from '../../../protocol/printable.ts';
import type { Problem } from '../../../protocol/problems.ts';
import { findPaths, type Heard, type Message, type Paths } from '../../run/own-event/find-paths.ts';
import { come } from '../../run/receivers/come.ts';
import { OwnClients } from '../../run/receivers/own-clients.ts';
import { Publishers } from '../../run/receivers/publishers.ts';
import { pause } from '../../run/wait.ts';
import { connectionTargetOf } from '../../script/connection-target.ts';
import { isTemplate } from '../../script/is-template.ts';
import { type EngineOptions, parseEngineOptions } from '../../script/options/engine-options.ts';
import { ENGINE } from '../../script/script.ts';
import type { Starter } from './starter-scenario.ts';

interface Listening {
  heard: Heard;
  /** Undefined if the publisher sends no ids, or there is none. */
  publishedIds: Set<string> | undefined;
}

/** Enough to see that ids differ. */
const PUBLISHED = 4;
const MAX_FINDING_LENGTH = 1000;

/**
 * A name that the server made never becomes a template: Artillery has no escape for one.
 * @returns the event to count, if there is one, and what arrived, in words
 * @throws CapacityError TARGET_UNREACHABLE
 */
export async function lookAt({ url, join, publish, event }: Starter, seconds: number) {
  const { heard, publishedIds } = await listen(url, { join, publish }, seconds);
  const wanted = (messages: Message[]) => messages.filter((message) => event === undefined || message.event === event);
  const usable = (messages: Message[]) => wanted(messages).filter((message) => !isTemplate(message.event));
  const unnamed = wanted(heard[0]).some((message) => isTemplate(message.event));
  const found = findPaths([usable(heard[0]), usable(heard[1])], publishedIds);
  const delivery = isTemplate([found?.id, found?.sentAt]) ? undefined : found;
  const finding = findingOf(heard[0], delivery, publishedIds !== undefined);
  const why = unnamed || delivery !== found ? ' Names with “{{” cannot be used: Artillery would fill them in.' : '';
  return { delivery, finding: printable(finding + why, MAX_FINDING_LENGTH) };
}

/** What was found, in words. */
function findingOf(messages: Message[], delivery: Paths | undefined, gaveIds: boolean): string {
  const counts = Map.groupBy(messages, ({ event }) => event);
  const events = [...counts].slice(0, 10).map(([event, { length }]) => `${JSON.stringify(event)} (${length})`);
  const got = events.length > 0 ? `The server sent ${events.join(', ')}.` : 'The server sent no event.';
  if (!delivery) {
    const missing = gaveIds
      ? 'No event has the id that was published.'
      : 'No event came at least twice, to two connections, with an id of its own each time.';
    return events.length > 0 ? `${got} ${missing}` : got;
  }
  const { event, id, sentAt, unusableTime } = delivery;
  const time = sentAt
    ? `the time at ${formatJsonPath(sentAt)}`
    : unusableTime
      ? `the time at ${formatJsonPath(unusableTime.path)} cannot be used: ${unusableTime.reason}`
      : 'it has no time';
  return `${got} Its ${JSON.stringify(event)} will be counted: the id is at ${formatJsonPath(id)}, ${time}.`;
}

/** The connections emit `join`, and a further one emits `publish` a few times. */
async function listen(
  url: string,
  { join, publish }: Pick<Starter, 'join' | 'publish'>,
  seconds: number,
): Promise<Listening> {
  const problems: Problem[] = [];
  const options = parseEngineOptions({ config: { target: url } }, problems);
  if (!options) {
    throw new CapacityError('CONFIG_INVALID', `url: ${problems[0]?.message}`, 'npx socketio-capacity init --help');
  }
  const clients = await clientsThat(join, options);
  const { signal } = new AbortController();
  const opened: { close(): void }[] = [];
  const open = async () => {
    const messages: Message[] = [];
    const onAny = (event: string, ...args: unknown[]) => {
      messages.push({ event, args, receivedAtUs: monotonicUs() });
    };
    const { socket } = await come(clients.nextReceiver(), signal, { onAny });
    opened.push({ close: () => socket.disconnect() });
    return messages;
  };
  try {
    const heard = [await open(), await open()] as const;
    const ended = pause(seconds * 1000, signal);
    let publishedIds: Set<string> | undefined;
    if (publish) {
      const every = seconds / (PUBLISHED + 1);
      const options = { emit: publish, every, count: PUBLISHED, users: 1 };
      const publishers = await Publishers.connect(clients, options, `init-${randomUUID()}`, signal);
      opened.push(publishers);
      if (publishers.givesIds) publishedIds = new Set();
      await publishers.publish(
        ({ id }) => publishedIds?.add(id),
        () => {},
        signal,
      );
    }
    await ended;
    return { heard, publishedIds };
  } catch (error) {
    if (!(error instanceof CapacityError)) throw error;
    const fix = 'correct --url, or write the scenario without looking at the server: --listen 0';
    throw new CapacityError(error.code, error.message, fix, { cause: error });
  } finally {
    for (const one of opened) one.close();
  }
}

/** They come by the flow of the scenario to be. */
function clientsThat(join: Starter['join'], engineOptions: EngineOptions): Promise<OwnClients> {
  const { url: target } = engineOptions.connection;
  const flow = join ? [{ emit: [join.event, ...join.args] }] : [{ connect: {} }];
  const connection = connectionTargetOf(engineOptions);
  const delivery = join && { event: '', id: [], seconds: 0, join: join.event };
  const settings = { connection, engineOptions, delivery, target, tls: false, ...{ engine: ENGINE, external: false } };
  return OwnClients.open({ ...settings, clients: undefined }, { config: { target }, scenarios: [{ flow }] });
}
