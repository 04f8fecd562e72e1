/** Readings of memory and metrics that are missing or not at rest. */
import type { Moment, Observed } from '../../../run/measurements/observations.ts';
import type { CodedDetail } from '../../check.ts';
import { momentText } from './moment.ts';

const MB = 1024 ** 2;

export const OF_READINGS = {
  connectionsStayed: ({ connections, seconds }: Observed['connectionsStayed']): CodedDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `${connections} connections were still open ${seconds} s after they were released: the residual is not known`,
    fix: 'see the worker logs: what keeps these connections open?',
  }),
  waveStayed: ({ wave, connections }: Observed['waveStayed']): CodedDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `${connections} connections of wave ${wave} had not left in time, so what it leaves behind is unknown`,
    fix: 'make the pause after the wave longer, or the `think` in the flow shorter',
  }),
  wavesOverlap: ({ when }: Observed['wavesOverlap']): CodedDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `the next wave began while memory was read ${momentText(when)}`,
    fix: 'make the pauses after the waves longer',
  }),
  plateauMoved: ({ from, to }: Observed['plateauMoved']): CodedDetail => ({
    code: 'PLATEAUS_UNUSABLE',
    message: `connections changed from ${from} to ${to} while memory was read`,
    fix:
      to < from
        ? 'see why connections ended; if their flow did, end it with `hold: true`'
        : 'make the pauses between the ramps longer',
  }),
  memoryFalls: ({ when, seconds, falls }: Observed['memoryFalls']): CodedDetail => {
    const what = falls.map(
      ({ title, bytes }) => `${title} (by ${(bytes / MB).toFixed(1)} MB since the reading before)`,
    );
    return {
      code: 'SERVER_NOT_IDLE',
      message: `${momentText(when)}, the memory of ${what.join(' and ')} still fell after ${seconds} s: ${CONSEQUENCE[when.at]}`,
      fix: 'see what else works on this server, or frees memory by a timer, and let it come to rest first',
    };
  },
  collectionMissing: ({ when, workers }: Observed['collectionMissing']): CodedDetail => ({
    code: 'COLLECTION_MISSING',
    message: `${momentText(when)}, ${workers.join(', ')} made no garbage collection when the run asked for it`,
  }),
};

/** Consequence of memory that still falls, by the moment at which the run waits for it to settle. */
const CONSEQUENCE: Partial<Record<Moment['at'], string>> = {
  plateau: 'the baseline is too high, and there is no memory per connection',
  wave: 'the wave seems to leave more behind than it does',
  left: 'there is no residual',
};
