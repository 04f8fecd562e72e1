/** Converts times in messages between hosts. */

/**
 * Point in time on the run's CLOCK_MONOTONIC, in microseconds. In messages between run and engines, the key of such a
 * value is `atUs` or ends in `AtUs`, because messages between hosts convert the values of these keys. Values of other
 * keys are durations.
 */
export type InstantUs = number;

/**
 * Returns a copy of the message with converted times. Each number whose key is `atUs` or ends in `AtUs` is converted.
 */
export function convertInstants<T>(message: T, convert: (atUs: number) => number): T {
  if (typeof message !== 'object' || message === null) return message;
  if (Array.isArray(message)) return message.map((item) => convertInstants(item, convert)) as T;
  return Object.fromEntries(
    Object.entries(message).map(([key, value]) => [
      key,
      /(^a|A)tUs$/.test(key) && typeof value === 'number' ? convert(value) : convertInstants(value, convert),
    ]),
  ) as T;
}
