import { z } from 'zod';
import { defineStep } from './step.ts';

/**
 * `hold: true`: stays connected until the last phase has ended, or the plugin says that everything is measured; then
 * leaves, and the step ends when the plugin has seen all of them go.
 */
export const hold = defineStep({
  schema: z.strictObject({ hold: z.literal(true, { error: 'write hold: true' }) }),
  staySeconds: () => Number.POSITIVE_INFINITY,
  holds: true,
  compile(_spec, { engine }) {
    const { tally, signals } = engine;
    const leave = () => void tally.holding--;
    return async (user) => {
      tally.holding++;
      // Who has lost its connection holds nothing any more.
      user.session.onLost = leave;
      await signals.release.promise;
      if (!user.session.dropped) leave();
      await user.session.close();
      await signals.finish.promise;
    };
  },
});
