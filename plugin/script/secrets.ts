/** Registers the secrets of a script. This thread masks them in all later output. */
import { setKnownSecrets } from '../../protocol/base/secrets/known-secrets.ts';
import { collectScriptSecrets } from '../../protocol/base/secrets/masked-values.ts';
import type { Script } from './script.ts';

/** Environment variables that are credentials or may contain one. */
const VARIABLES = ['TARGET', 'REDIS_URL', 'CAPACITY_CONTROL', 'CAPACITY_TOKEN'] as const;

/**
 * Registers the secrets of a script. Must be called in every thread that receives the script: in the main thread and in
 * each worker.
 */
export function setSecretsOfScript({ config, scenarios, before, after }: Script, env: NodeJS.ProcessEnv): void {
  const variables = Object.fromEntries(VARIABLES.map((name) => [name, env[name] ?? '']));
  const flows = [...(scenarios ?? []), before, after].map((flow) => ({ flow }));
  const [, token] = /#([\w-]+)\./.exec(env.CAPACITY_CONDUCTOR ?? '') ?? [];
  // The rows of `payload` are not searched for secrets, because there can be very many.
  const { payload: _, ...options } = config;
  const { credentials, values } = collectScriptSecrets({ options, flows, variables }, env);
  if (token !== undefined) credentials.add(token);
  setKnownSecrets({ credentials, values });
}
