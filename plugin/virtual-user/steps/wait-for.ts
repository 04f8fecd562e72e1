import { z } from 'zod';
import { timeoutSchema } from '../../script/duration.ts';
import { isTemplate } from '../../script/is-template.ts';
import { namespaceSchema } from '../../script/options/connect-options.ts';
import { answerChecksShape, compileAnswerChecks } from './answer-checks.ts';
import { defineStep } from './step.ts';

/**
 * `waitFor: {event: "ready"}`: waits for an event from the server. Events are kept from the time at which their
 * namespace opens. The step takes the oldest matching event, and discards older events.
 */
export const waitForStep = defineStep({
  schema: z.strictObject({
    waitFor: z
      .strictObject(
        {
          event: z.string().describe('its name'),
          namespace: namespaceSchema.default('').describe('default: the main namespace'),
          timeout: timeoutSchema.optional().describe('default: the option `timeout`'),
          ...answerChecksShape,
        },
        { error: 'expected the event: waitFor: {event: "<event>"}' },
      )
      .describe('waits for an event that matches; up to 16 that came earlier are kept for it'),
  }),
  staySeconds: () => Number.POSITIVE_INFINITY,
  compile({ waitFor: spec }, build) {
    const { config, meter } = build.shared;
    const timeoutMs = spec.timeout ?? config.timeoutMs;
    const checks = compileAnswerChecks(spec, build);
    const namespaceOf = build.template(spec.namespace);
    const eventOf = build.template(spec.event);
    if (!isTemplate([spec.event, spec.namespace])) {
      build.uses.awaited.push({ namespace: build.namespace(spec.namespace), event: spec.event });
    }
    return async (user) => {
      const namespace = build.namespace(String(namespaceOf(user.context)));
      const connection = await build.use(user, namespace);
      const startedAt = performance.now();
      let others = 0;
      const wait = user.session.expect(connection, {
        namespace,
        event: String(eventOf(user.context)),
        timeoutMs,
        fromMailbox: true,
        timeoutCode: () => (others > 0 ? 'failed_match' : 'wait_timeout'),
        accept(args) {
          if (checks.matches(args, user)) return true;
          others++;
          return false;
        },
      });
      try {
        const args = await wait.promise;
        meter.record('waitTime', performance.now() - startedAt);
        checks.capture(args, user);
      } finally {
        wait.cancel();
      }
    };
  },
});
