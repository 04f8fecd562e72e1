/** Makes the secrets of a script known to this thread, which shows none of them from then on. */
import { knowSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import { secretsIn } from '../../protocol/base/secrets/masked-values.ts';
import type { Script } from './script.ts';

/** Variables of ours that are, or can have, a credential. */
const VARIABLES = ['TARGET', 'REDIS_URL', 'CAPACITY_CONTROL', 'CAPACITY_TOKEN'] as const;

/** To be called wherever a script arrives: in the main thread and in each worker. */
export function knowSecretsOf({ config, scenarios, before, after }: Script, env: NodeJS.ProcessEnv): void {
  const set = Object.fromEntries(VARIABLES.map((name) => [name, env[name] ?? '']));
  const flows = [...(scenarios ?? []), before, after].map((flow) => ({ flow }));
  const [, token] = /#([\w-]+)\./.exec(env.CAPACITY_CONDUCTOR ?? '') ?? [];
  // Rows of a payload are secrets of virtual users: they can be many.
  const { payload: _, ...options } = config;
  const { credentials, values } = secretsIn({ options, flows, set }, env);
  if (token !== undefined) credentials.add(token);
  knowSecrets({ credentials, values });
}
