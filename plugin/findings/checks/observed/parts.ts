/** Parts of deployment and generator that changed or stopped answering, and a planned fault that failed. */
import { METRICS_PAGE, type Observed } from '../../../run/measurements/observations.ts';
import type { CodedDetail } from '../../check.ts';
import { momentText } from './moment.ts';

export const OF_PARTS = {
  partsChanged: ({ when, parts }: Observed['partsChanged']): CodedDetail =>
    // The page's own start time and counters say so.
    parts.every((part) => part === METRICS_PAGE)
      ? { code: 'PROCESS_ENDED', message: `${momentText(when)}, ${METRICS_PAGE} had restarted` }
      : {
          code: 'DEPLOYMENT_CHANGED',
          message: `${momentText(when)}, ${parts.join(' and ')} were reloaded, replaced or stopped since the run began`,
        },
  redisSilent: ({ when, name, failure }: Observed['redisSilent']): CodedDetail => ({
    code: 'DEPLOYMENT_CHANGED',
    message: `${name} no longer answered ${momentText(when)}: ${failure}`,
  }),
  enginesSilent: ({ requests, hosts }: Observed['enginesSilent']): CodedDetail => ({
    code: 'GENERATOR_SILENT',
    message: `Artillery's workers${hosts.length > 0 ? ` on ${hosts.join(', ')}` : ''} left ${requests} requests of the run unanswered`,
  }),
  hostLost: ({ host, why }: Observed['hostLost']): CodedDetail => ({
    code: 'GENERATOR_SILENT',
    message: `generator host ${host} was gone before the end: ${why}; all of its connections count as lost`,
    fix: 'see the output of Artillery there, and `dmesg`; then repeat the run',
    subject: host,
  }),
  faultFailed: (fact: Observed['faultFailed']): CodedDetail => {
    const why = 'error' in fact ? fact.error : `${fact.notReplaced.join(', ')} should have been replaced, and was not`;
    return { code: 'FAULT_FAILED', message: `the planned fault did not happen as planned: ${why}` };
  },
};
