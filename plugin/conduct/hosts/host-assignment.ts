/**
 * Instructions with which a host runs its share of the load. A host requests them over HTTPS. They contain the host's
 * number, environment variables and overrides, so a host needs only the join token to start.
 */
import { get } from 'node:https';
import { z } from 'zod';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { bodyBeginning } from '../../samplers/index.ts';
import { hostInUrl, type JoinAddress } from './join-token.ts';
import { askUntilAnswered, CONDUCTOR_CONNECT_TIMEOUT_MS, PinnedAgent } from './pinned-connection.ts';

export const ASSIGNMENT_PATH = '/order/';
/** Variables and overrides are short. A longer answer is cut off, so it is no JSON, and the host asks again. */
const MAX_ORDER_BYTES = 2 ** 20;

const orderSchema = z.object({
  /** Arguments of `artillery run`. */
  args: z.array(z.string()),
  /** Environment variables that the host adds to its own variables. */
  env: z.record(z.string(), z.string()),
});
export type HostAssignment = z.infer<typeof orderSchema>;

export interface AssignmentInputs {
  /** Path of the scenario, which is the same on all hosts. */
  path: string;
  environment?: string | undefined;
  /** Artillery's `--overrides`. */
  overrides?: string | undefined;
  /** Names of the environment variables that hosts receive if they are set on the conductor. */
  variables?: string[];
  hosts: number;
}

/**
 * Returns a function that numbers the hosts of a run in the order of their requests. A host that requests again keeps
 * its number. If there are more hosts than the run needs, the function returns undefined.
 */
export function createAssigner(
  { path, environment, overrides, variables = [], hosts }: AssignmentInputs,
  env: NodeJS.ProcessEnv,
) {
  const args = ['--quiet', ...(environment ? ['--environment', environment] : [])];
  if (overrides) args.push('--overrides', overrides);
  const values = Object.fromEntries(variables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const known = new Map<string, number>();
  return (host: string): HostAssignment | undefined => {
    if (!known.has(host) && known.size < hosts) known.set(host, known.size);
    const index = known.get(host);
    if (index === undefined) return undefined;
    return {
      args: [...args, path],
      env: { ...values, CAPACITY_HOSTS: String(hosts), CAPACITY_HOST: String(index) },
    };
  };
}

/**
 * Requests the host's instructions from the conductor, repeatedly if the conductor does not answer.
 * @param host random id of this process
 * @throws CapacityError CONDUCTOR_UNREACHABLE, BAD_TOKEN; the signal's reason
 */
export function fetchAssignment(join: JoinAddress, host: string, signal: AbortSignal): Promise<HostAssignment> {
  return askUntilAnswered(join, signal, () => ask(join, host));
}

async function ask(join: JoinAddress, host: string): Promise<HostAssignment | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<HostAssignment | undefined>();
  const request = get(`https://${hostInUrl(join.host)}:${join.port}${ASSIGNMENT_PATH}${host}`, {
    agent: new PinnedAgent(join),
    headers: { authorization: `Bearer ${join.token}` },
    timeout: CONDUCTOR_CONNECT_TIMEOUT_MS,
  });
  request.on('timeout', () => request.destroy(new Error('no answer')));
  request.on('error', reject);
  request.on('response', (response) => {
    const { statusCode } = response;
    bodyBeginning(response, MAX_ORDER_BYTES)
      .then((body) => {
        if (statusCode === 401) throw new CapacityError('BAD_TOKEN', 'the token is not that of this run');
        return statusCode === 200 ? orderSchema.parse(JSON.parse(body)) : undefined;
      })
      .then(resolve, reject);
  });
  return promise;
}
