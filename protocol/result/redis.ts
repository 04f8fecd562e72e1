/** The section `redis` of the result document: the adapter's Redis during the broadcasts. Its memory and CPU are with the layers. */
import { z } from 'zod';
import { count } from './parts.ts';

/** Null without Redis, without broadcasts, or if it did not answer before and after them. */
export const redisSchema = z
  .strictObject({
    version: z.string(),
    /** Received and sent for the broadcasts, without the requests of the run. */
    inBytes: count,
    outBytes: count,
    /** Per copy that a client received; null if none did. */
    inBytesPerCopy: z.number().nullable(),
    outBytesPerCopy: z.number().nullable(),
    /** With subscribers. */
    channels: count,
    patterns: count,
    /** Null before Redis 7.0. */
    shardChannels: count.nullable(),
    /** Broadcasts without members on other workers than the publisher's; null if the server does not tell. */
    forNobody: count.nullable(),
  })
  .nullable();
