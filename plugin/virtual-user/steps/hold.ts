import { z } from 'zod';
import { defineStep } from './step.ts';

/**
 * `hold: true`: stays connected until the last phase has ended or, with the plugin, until everything is measured. Then it
 * disconnects, and the step ends when the plugin has measured the memory that all of them left behind.
 */
export const hold = defineStep({
  schema: z.strictObject({
    hold: z
      .literal(true, { error: 'write hold: true' })
      .describe(
        'stays connected until all is measured (without the plugin, until the last phase ends), then disconnects',
      ),
  }),
  staySeconds: () => Number.POSITIVE_INFINITY,
  holds: true,
  waits: true,
  compile(_spec, { shared }) {
    const { tally, signals } = shared;
    const leave = () => void tally.holding--;
    return async (user) => {
      tally.holding++;
      // A virtual user that has lost its connection no longer counts as holding.
      user.session.onLost = leave;
      await signals.release.promise;
      if (!user.session.lost) leave();
      await user.session.close();
      await signals.finish.promise;
    };
  },
});
