/** Examines a server for `init`: the events that it sends to connections that run the new scenario's flow. */

import { formatJsonPath } from '../../../protocol/base/json-path.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import {
  type EventPaths,
  findEventPaths,
  findIdPath,
  type ReceivedByTwo,
  type ReceivedMessage,
} from '../../run/broadcasts/find-paths.ts';
import { addRoomToEventFix } from '../../run/broadcasts/own-event.ts';
import type { ReceivedByPublisher } from '../../run/receivers/publishers.ts';
import { isTemplate } from '../../script/is-template.ts';
import { findClientRoom, stepWithRoomVariable } from './client-room.ts';
import { emittedEventOf, recordTwoClients, valuesText } from './listen.ts';
import type { StarterOptions } from './starter-scenario.ts';

/** Matches a template that Artillery fills with a random value. */
const DRAWS = /\{\{\s*\$random/;
const MAX_FINDING_LENGTH = 1000;

/**
 * Runs the flow and finds the event to count. Names from the server are never used if they contain `{{`, because
 * Artillery would fill them in as templates.
 * @returns the event to count, if any, and a description of the received events
 * @throws CapacityError TARGET_UNREACHABLE
 */
export async function findEventToCount(starter: StarterOptions, seconds: number) {
  const { flow } = starter;
  const { heard, acknowledged, published, publisher, toPublisher, told } = await recordTwoClients(starter, seconds);
  const [usable = [], others = []] = heard.map((messages) => messages.filter(({ event }) => !isTemplate(event)));
  // The second client is left out if the event goes to a room of the first client only.
  const ids = new Set(published?.keys());
  const shared = findEventPaths([usable, told ? usable : others], published && ids);
  const partly = shared || told ? undefined : partlyReached([usable, others], toPublisher, ids);
  const found = shared ?? partly?.paths;
  const counted = usable.filter(({ event }) => event === found?.event);
  const own = told && findClientRoom(counted, published ?? new Map(), told);
  const delivery = isTemplate([found?.event, found?.id, found?.sentAt]) || (told && !own) ? undefined : found;
  const answers = [
    ...acknowledged.map(({ event, args }) => `It acknowledged ${JSON.stringify(event)} with ${valuesText(args)}. `),
    ...publisher.map(({ text }) => `It acknowledged ${JSON.stringify(starter.publish?.event)} with ${text}. `),
  ];
  const ownAnswers = toPublisher.filter(({ event }) => !heard.flat().some((one) => one.event === event));
  answers.push(
    ...ownAnswers.map(({ event, text }) => `It answered the publisher with ${JSON.stringify(event)} ${text}. `),
  );
  const repeated = delivery || published || told ? [] : repeatedIn([usable, others]);
  const roomless = usable.find(({ args }) => findIdPath(args, ids) !== undefined);
  const isFound = delivery !== undefined && partly === undefined;
  const missing = isFound
    ? ''
    : told
      ? roomless
        ? `Its ${JSON.stringify(roomless.event)} carried the published id, but no room: ${addRoomToEventFix(roomless.event)}; or, if every connection receives it, leave \`$room\` out of --publish.`
        : 'No event carried an id back to its room: an event of --emit must name the room, not as a template, or the login or the server must tell each client its own.'
      : partly
        ? partly.text
        : heard[0].length === 0
          ? ''
          : published
            ? 'No event carried the published id.'
            : repeated.length === 0
              ? 'No event came to two connections, at least twice.'
              : repeated.map(withoutIdText).join(' ');
  const apart =
    delivery || !DRAWS.test(JSON.stringify(flow))
      ? ''
      : ' What the flow draws at random can put clients into different rooms: write one room while init looks.';
  const finding = `${[...new Set(answers)].join('')}${findingOf(heard[0], delivery, missing, ownAnswers.length > 0)}`;
  const isLeftOut = isTemplate([found?.id, found?.sentAt]) || usable?.length !== heard[0].length;
  const why = isLeftOut ? ' Names with “{{” cannot be used: Artillery would fill them in.' : '';
  // Acknowledgements are requested only for events that the server has acknowledged. Other events would block the flow.
  const answering = new Set(acknowledged.map(({ event }) => event));
  const { place, step: learning } = own ?? {};
  const asking = flow.map((step) => ({
    ...(place ? stepWithRoomVariable(step, place) : step),
    ...(step.acknowledge === undefined && answering.has(emittedEventOf(step) ?? '') && { acknowledge: true }),
  }));
  return {
    flow: [...asking, ...(learning ? [learning] : [])],
    delivery,
    rooms: own?.delivery,
    room: place?.value,
    withoutId: repeated.map(({ event }) => event),
    finding: printableLine(finding + apart + why, MAX_FINDING_LENGTH),
  };
}

interface Repeated {
  event: string;
  count: number;
}

/** Returns the events that each connection received at least twice. */
function repeatedIn([first, second]: ReceivedByTwo): Repeated[] {
  const countOf = (messages: ReceivedMessage[], name: string) => messages.filter(({ event }) => event === name).length;
  return [...new Set(first.map(({ event }) => event))]
    .map((event) => ({ event, count: countOf(first, event) }))
    .filter(({ event, count }) => count > 1 && countOf(second, event) > 1)
    .slice(0, 5);
}

function withoutIdText({ event, count }: Repeated): string {
  const name = JSON.stringify(event);
  return `${name} came ${count} times without an id: nothing in it is new each time and the same for both connections. Its copies are counted for each connection; {event: ${name}, counter: …} also compares them with a counter of the server. To see which are missing, let the server put an id into it, as in io.emit(${name}, {...message, id}).`;
}

/**
 * Returns a description of the received events.
 * @param isAnswered whether the server sent events to the publishing client only
 */
function findingOf(
  messages: ReceivedMessage[],
  delivery: EventPaths | undefined,
  missing: string,
  isAnswered: boolean,
): string {
  const counts = Map.groupBy(messages, ({ event }) => event);
  const events = [...counts].slice(0, 10).map(([event, [first, ...others]]) => {
    // An event that was received only once may be the answer to a login, so its arguments are shown.
    const once = others.length === 0 && first ? ` ${valuesText(first.args)}` : '';
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

/**
 * An event with a published id that did not reach both clients. The scenario counts it, so that a run shows the missing
 * copies.
 */
interface PartlyReached {
  paths: EventPaths;
  /** Text for the user: which connections received the event, likely causes, and fixes. */
  text: string;
}

const CAUSES =
  'If the server runs in several processes, no adapter connects them: give it one, such as Redis or the cluster adapter. Otherwise, clients must do something to get it, such as join a room. A run fails until then, because the scenario counts the event.';

/**
 * Returns the published event if it reached only some of the clients.
 * @param ids published ids
 * @returns the event that reached one client, each client with different ids, or only the publishing client
 */
function partlyReached(
  [first, second]: ReceivedByTwo,
  toPublisher: readonly ReceivedByPublisher[],
  ids: ReadonlySet<string>,
): PartlyReached | undefined {
  const pathsOf = (messages: ReceivedMessage[]) => findEventPaths([messages, messages], ids);
  const [one, other] = [pathsOf(first), pathsOf(second)];
  const paths = one ?? other ?? pathsOf(toPublisher.flatMap(messageOf));
  if (!paths) return undefined;
  const reached =
    one && other
      ? 'came to each of two connections, but no id to both'
      : one || other
        ? 'came to one of two connections'
        : 'came only to the connection that published';
  return { paths, text: `${JSON.stringify(paths.event)} ${reached}. ${CAUSES}` };
}

/** Returns the event as a message. Returns an empty list if its text was truncated. */
function messageOf({ event, text }: ReceivedByPublisher): ReceivedMessage[] {
  const args: unknown[] | undefined = tryOrUndefined(() => JSON.parse(`[${text}]`));
  return args ? [{ event, args, receivedAtUs: 0 }] : [];
}
