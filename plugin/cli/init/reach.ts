/** An event with a published id that did not reach both clients: it is the one to count, and a run of it shows what is missing. */
import { attempt } from '../../../protocol/base/attempt.ts';
import { findPaths, type Heard, type Message, type Paths } from '../../run/broadcasts/find-paths.ts';
import type { ReceivedByPublisher } from '../../run/receivers/publishers.ts';

interface PartlyReached {
  paths: Paths;
  /** Connections that received it, the likely causes and their fixes. */
  text: string;
}

const CAUSES =
  'If the server runs in several processes, no adapter connects them: give it one, such as Redis or the cluster adapter. Otherwise, clients must do something to get it, such as join a room. A run fails until then, because the scenario counts the event.';

/**
 * @param ids the published ones
 * @returns the event that one connection received, or each of the two without the other, or only the publisher
 */
export function partlyReached(
  [first, second]: Heard,
  toPublisher: readonly ReceivedByPublisher[],
  ids: ReadonlySet<string>,
): PartlyReached | undefined {
  const pathsOf = (messages: Message[]) => findPaths([messages, messages], ids);
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

/** @returns none if the text is cut */
function messageOf({ event, text }: ReceivedByPublisher): Message[] {
  const args: unknown[] | undefined = attempt(() => JSON.parse(`[${text}]`));
  return args ? [{ event, args, receivedAtUs: 0 }] : [];
}
