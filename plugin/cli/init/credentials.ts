/** Credentials of a login: the scenario names environment variables for them, and has none of their values. */
import { isSecretName } from '../../../protocol/secrets/secret-names.ts';
import { isTemplate } from '../../script/is-template.ts';
import { knowSecretsOf } from '../../script/secrets.ts';
import { badOption } from '../command.ts';

type Flow = Record<string, unknown>[];

/**
 * Replaces literal credentials by `{{ $env.NAME }}`, and sets these variables in this process, which plays the flow.
 * @returns the flow, and the variables that it needs
 */
export function withNamedCredentials(flow: Flow): { flow: Flow; variables: string[] } {
  const values = new Map<string, string>();
  const replaced = mapped(flow, '', (value, key) => {
    const name = nameFor(key, value, values);
    values.set(name, value);
    return `{{ $env.${name} }}`;
  }) as Flow;
  for (const [name, value] of values) process.env[name] = value;
  return { flow: replaced, variables: variablesIn(replaced) };
}

/**
 * Reads variables that are not set: on a terminal by asking, without showing what is typed.
 * @throws CapacityError CONFIG_INVALID for those that are missing otherwise
 */
export async function readVariables(flow: Flow, variables: string[], isInteractive: boolean): Promise<void> {
  const missing = variables.filter((name) => !process.env[name]);
  if (missing.length > 0 && !isInteractive) {
    throw badOption(`environment variable ${missing.join(', ')} is not set, which the login reads`, 'init');
  }
  for (const name of missing) process.env[name] = await askHidden(`${name} (is not shown, and not written)`);
  knowSecretsOf({ config: {}, scenarios: [{ flow }] }, process.env);
}

async function askHidden(message: string): Promise<string> {
  // Loaded on demand, because no other command asks anything.
  const { default: input } = await import('@inquirer/input');
  return input({ message, required: true, transformer: (text) => '*'.repeat(text.length) });
}

/** @param replace gets each literal credential with its key */
function mapped(value: unknown, key: string, replace: (value: string, key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => mapped(one, key, replace));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, mapped(inside, name, replace)]));
  }
  return typeof value === 'string' && isCredential(key, value) ? replace(value, key) : value;
}

/** A bare `key` names many other things. */
function isCredential(key: string, value: string): boolean {
  return key !== 'key' && isSecretName(key) && value !== '' && !value.startsWith('$') && !isTemplate(value);
}

/** @returns `ACCESS_TOKEN` for `accessToken`; with a number where another value has that name */
function nameFor(key: string, value: string, values: Map<string, string>): string {
  const base = key
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/\W+/g, '_')
    .toUpperCase();
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}_${count}`;
    if ((values.get(name) ?? value) === value) return name;
  }
}

function variablesIn(flow: Flow): string[] {
  const names = [...JSON.stringify(flow).matchAll(/\$(?:env|processEnvironment)\.(\w+)/g)].map(([, name = '']) => name);
  return [...new Set(names)];
}
