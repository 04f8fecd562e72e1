/** Registers the secrets of a script in this thread, which masks them in all output from then on. */
import { knowSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import { secretsIn } from '../../protocol/base/secrets/masked-values.ts';
import type { Script } from './script.ts';

/** Environment variables that are, or can contain, a credential. */
const VARIABLES = ['TARGET', 'REDIS_URL', 'CAPACITY_CONTROL', 'CAPACITY_TOKEN'] as const;

/** Must be called wherever a script is received: in the main thread and in each worker. */
export function knowSecretsOf({ config, scenarios, before, after }: Script, env: NodeJS.ProcessEnv): void {
  const variables = Object.fromEntries(VARIABLES.map((name) => [name, env[name] ?? '']));
  const flows = [...(scenarios ?? []), before, after].map((flow) => ({ flow }));
  const [, token] = /#([\w-]+)\./.exec(env.CAPACITY_CONDUCTOR ?? '') ?? [];
  // Left out: a payload can have very many rows.
  const { payload: _, ...options } = config;
  const { credentials, values } = secretsIn({ options, flows, variables }, env);
  if (token !== undefined) credentials.add(token);
  knowSecrets({ credentials, values });
}
