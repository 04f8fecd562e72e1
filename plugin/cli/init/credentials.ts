/**
 * Replaces credentials in the input of `init` by environment variables, so that the scenario file contains no
 * credentials.
 */
import { setKnownSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { collectScriptSecrets } from '../../../protocol/base/secrets/masked-values.ts';
import { isSecretName } from '../../../protocol/base/secrets/secret-text.ts';
import { isTemplate } from '../../script/is-template.ts';
import { invalidOptionError } from '../command.ts';

type Flow = Record<string, unknown>[];

/**
 * Replaces literal credentials by `{{ $env.NAME }}`. Sets these environment variables in this process, which runs the
 * flow.
 * @param given parts of a scenario, such as `flow` and `publish`
 * @param secrets values that are credentials whatever their key is
 * @returns the same parts of the scenario, and the names of their variables
 */
export function withNamedCredentials<T extends object>(
  given: T,
  secrets: ReadonlySet<string> = new Set(),
): { named: T; variables: string[] } {
  const values = new Map<string, string>();
  const named = mapped(given, '', secrets, (value, key) => {
    const name = nameFor(key, value, values);
    values.set(name, value);
    return `{{ $env.${name} }}`;
  }) as T;
  for (const [name, value] of values) process.env[name] = value;
  return { named, variables: variablesIn(named) };
}

/** Returns whether the JSON contains a literal credential, which must not be shown in a question. */
export function hasCredentials(text: string, secrets: ReadonlySet<string> = new Set()): boolean {
  let isFound = false;
  mapped(JSON.parse(text), '', secrets, (value) => {
    isFound = true;
    return value;
  });
  return isFound;
}

/**
 * Asks for missing environment variables on a terminal. The typed text is hidden.
 * @throws CapacityError CONFIG_INVALID if variables are missing and there is no terminal
 */
export async function askForVariables(flow: Flow, variables: string[], isInteractive: boolean): Promise<void> {
  const missing = variables.filter((name) => !process.env[name]);
  if (missing.length > 0 && !isInteractive) {
    throw invalidOptionError(`environment variable ${missing.join(', ')} is not set, which the login reads`, 'init');
  }
  for (const name of missing) asked.add(name);
  for (const name of missing) process.env[name] = await askHidden(`${name} (is not shown, and not written)`);
  const { credentials, values } = collectScriptSecrets({ flow }, process.env);
  // Values that the scenario file contains anyway, such as the name of a room, are not masked in output.
  const text = JSON.stringify(flow);
  setKnownSecrets({ credentials, values: [...values].filter((value) => !text.includes(value)) });
}

/**
 * Returns a list with the shell command that sets the variable, if the variable's value begins with `Basic` or
 * `Bearer`. Returns an empty list for any other value.
 */
export function setVariableCommand(variable: string): string[] {
  const [, scheme] = /^(Basic|Bearer) /i.exec(process.env[variable] ?? '') ?? [];
  if (scheme === undefined) return [];
  const value = /basic/i.test(scheme) ? "$(printf %s 'user:password' | base64 | tr -d '\\n')" : '<token>';
  return [`  export ${variable}="${scheme} ${value}"`];
}

/** Names of the environment variables whose values the user has typed on the terminal. */
const asked = new Set<string>();

/** Deletes the environment variables whose values the user has typed, so that `askForVariables` asks for them again. */
export function forgetTypedVariables(): void {
  for (const name of asked) delete process.env[name];
}

async function askHidden(message: string): Promise<string> {
  // The prompt library is imported only when needed, because few commands ask questions.
  const { default: input } = await import('@inquirer/input');
  return input({ message, required: true, transformer: (text) => '*'.repeat(text.length) });
}

/**
 * Replaces the literal credentials in a value.
 * @param replace called with each credential and its key
 */
function mapped(
  value: unknown,
  key: string,
  secrets: ReadonlySet<string>,
  replace: (value: string, key: string) => string,
): unknown {
  if (Array.isArray(value)) return value.map((one) => mapped(one, key, secrets, replace));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inside]) => [name, mapped(inside, name, secrets, replace)]),
    );
  }
  if (typeof value !== 'string') return value;
  if (isCredential(key, value)) return replace(value, key);
  // Arguments of an event have no key, so a fixed name is used.
  if (secrets.has(value)) return replace(value, ['emit', 'args'].includes(key) ? 'SECRET' : key);
  return value.replace(SECRET_QUERY, (whole, start: string, name: string, text: string) =>
    isSecretName(name) && !isTemplate(text) ? `${start}${name}=${replace(text, name)}` : whole,
  );
}

/** Matches a parameter in the query of a URL, with its name and its value. */
const SECRET_QUERY = /([?&])([\w.-]+)=([^&\s"'<>#]+)/g;

/**
 * Returns whether a field contains a literal credential. A field named `key` does not count, because the name has many
 * other meanings.
 */
function isCredential(key: string, value: string): boolean {
  return key !== 'key' && isSecretName(key) && value !== '' && !value.startsWith('$') && !isTemplate(value);
}

/**
 * Returns the name of the environment variable for a field, such as `ACCESS_TOKEN` for `accessToken`. Appends a number
 * if the variable has a different value already.
 */
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

function variablesIn(given: object): string[] {
  const names = [...JSON.stringify(given).matchAll(/\$(?:env|processEnvironment)\.(\w+)/g)].map(
    ([, name = '']) => name,
  );
  return [...new Set(names)];
}
