/**
 * Asks the questions of `init` on a terminal. All answers are kept. After a failure, only questions that may have
 * caused it are asked again.
 */
import { CapacityError, describeError } from '../../../protocol/codes/errors.ts';
import { UnsupportedServerError } from '../../run/receivers/explain-failure.ts';
import { invalidOptionError } from '../command.ts';
import { waitOrFail } from '../own-process.ts';
import { forgetTypedVariables } from './credentials.ts';
import { DEFAULT_SOCKETIO_PATH } from './har/recorded-connections.ts';
import { requireSupportedProtocol } from './listen.ts';
import { type InitAnswers, initOptionsSchema } from './options.ts';
import { ClientRefusedError } from './refusals.ts';

const LOGINS = ['none', 'token', 'jwt', 'cookie', 'event', 'query', 'header'] as const;

/** Parts of the handshake that can contain a login's token. */
const PLACES = ['auth', 'header', 'query'] as const;

type Name =
  | 'url'
  | 'path'
  | 'connections'
  | 'emit'
  | 'publish'
  | 'login'
  | 'loginPath'
  | 'fields'
  | 'tokenPath'
  | 'tokenPlace'
  | 'loginEvent'
  | 'values';
type Texts = Partial<Record<Name, string>>;

interface Question {
  name: Name;
  text: string | ((texts: Texts) => string);
  usual?: string | ((texts: Texts) => string);
  /** All accepted answers to the question; undefined for free text. */
  choices?: readonly string[];
  /** Option of `init` whose schema validates the answer. */
  schema?: keyof typeof initOptionsSchema.shape;
  if?(texts: Texts): boolean;
}

const isLogin =
  (...kinds: string[]) =>
  ({ login = 'none' }: Texts) =>
    kinds.includes(login);

/** Questions after those about the URL, the number of connections, and `instrument(io)`. */
const QUESTIONS: Question[] = [
  {
    name: 'login',
    text: `How a client logs in: none; token; jwt (an HTTP login answers a token); cookie (a form sets one); event; query; header`,
    usual: 'none',
    choices: LOGINS,
  },
  {
    name: 'loginPath',
    text: 'Path of the login',
    usual: ({ login }) => (login === 'jwt' ? '/auth/login' : '/login'),
    if: isLogin('jwt', 'cookie'),
  },
  {
    name: 'fields',
    text: 'What the login sends; a variable of the environment is asked for, and not written',
    usual: '{"username": "ann", "password": "{{ $env.PASSWORD }}"}',
    schema: 'auth',
    if: isLogin('jwt', 'cookie'),
  },
  { name: 'tokenPath', text: 'Where its answer has the token', usual: '$.token', if: isLogin('jwt') },
  {
    name: 'tokenPlace',
    text: 'Where the handshake carries it: auth (`auth.token`); header (`Authorization: Bearer`); query (`?token=`)',
    usual: 'auth',
    choices: PLACES,
    if: isLogin('jwt'),
  },
  {
    name: 'loginEvent',
    text: 'The event that logs in',
    usual: '["authenticate", {"token": "{{ $env.TOKEN }}"}]',
    schema: 'emit',
    if: isLogin('event'),
  },
  {
    name: 'values',
    text: ({ login }) =>
      login === 'header' ? 'Headers of the handshake' : login === 'query' ? 'Query of the URL' : '`auth` of the client',
    usual: ({ login }) =>
      login === 'header' ? '{"Authorization": "Bearer {{ $env.TOKEN }}"}' : '{"token": "{{ $env.TOKEN }}"}',
    schema: 'headers',
    if: isLogin('token', 'query', 'header'),
  },
  {
    name: 'emit',
    text: 'What a client emits to get messages, as ["subscribe", "news"] (empty: nothing)',
    schema: 'emit',
  },
  {
    name: 'publish',
    text: 'What makes it send to every connection, as ["say", {"id": "$id"}], or to one user, as ["say", {"id": "$id", "to": "$room"}] (empty: it sends by itself)',
    schema: 'publish',
  },
];
const LOGIN_NAMES: Name[] = ['login', 'loginPath', 'fields', 'tokenPath', 'tokenPlace', 'loginEvent', 'values'];
const FIRST: Question[] = [
  { name: 'url', text: 'URL of the server', usual: 'http://localhost:3000', schema: 'url' },
  { name: 'path', text: 'Path of Engine.IO', usual: DEFAULT_SOCKETIO_PATH, schema: 'path' },
  { name: 'connections', text: 'Connections', usual: '1000', schema: 'connections' },
];

export class InitInterview {
  readonly #given: InitAnswers;
  readonly #texts: Texts = {};
  #isInstrumented: boolean | undefined;
  #needsEvent = true;
  /** Questions to ask next. The answers that the user gave before are the defaults. */
  #open: Set<Name>;

  /**
   * Chooses the questions to ask.
   * @param given options from the command line; their questions are not asked
   * @param unsure answers that the user must confirm; if given, no other question is asked
   */
  constructor(given: InitAnswers, unsure?: Texts) {
    this.#given = given;
    this.#isInstrumented = given.instrumented as boolean | undefined;
    const hasLogin = [given.login, given.auth, given.headers].some((option) => option !== undefined);
    if (unsure) Object.assign(this.#texts, unsure);
    const all = unsure ? (Object.keys(unsure) as Name[]) : [...FIRST, ...QUESTIONS].map(({ name }) => name);
    // The questions for the path and the place of the token are asked only after a failure: most servers use the
    // default path and `auth`.
    this.#open = new Set(
      all.filter(
        (name) =>
          !['path', 'tokenPlace'].includes(name) &&
          given[name as keyof InitAnswers] === undefined &&
          !(hasLogin && LOGIN_NAMES.includes(name)),
      ),
    );
  }

  /**
   * Asks the questions, and repeats the questions that may have made `use` fail.
   * @throws CapacityError CONFIG_INVALID if Ctrl-C or Ctrl-D ends the questions; errors of `use` that no answer can fix
   */
  async until<T>(use: (answers: InitAnswers, needsEvent: boolean) => Promise<T>): Promise<T> {
    const askable = new Set(this.#open);
    if (askable.has('login')) askable.add('tokenPlace');
    if (askable.has('url') && this.#given.path === undefined) askable.add('path');
    for (;;) {
      const answers = await withPrompts(() => this.#ask());
      try {
        return await use(answers, this.#needsEvent);
      } catch (error) {
        const wrong = concerned(error, this.#texts).filter((name) => askable.has(name));
        if (wrong.length === 0) throw error;
        console.log(`\n${describeError(error)}\nThe other answers are kept. Ctrl-C ends.`);
        if (wrong.includes('emit') && !wrong.includes('login')) {
          console.log('To measure connections only, leave both empty.');
          this.#needsEvent = false;
        }
        if (wrong.some((name) => LOGIN_NAMES.includes(name))) forgetTypedVariables();
        this.#open = new Set(wrong);
      }
    }
  }

  async #ask(): Promise<InitAnswers> {
    const { url } = this.#given;
    if (url !== undefined) await this.#look(String(url), this.#path);
    for (const question of FIRST) await this.#put(question);
    if (this.#isInstrumented === undefined) {
      const { default: confirm } = await import('@inquirer/confirm');
      this.#isInstrumented = await confirm({ message: 'Does it call instrument(io)?', default: false });
    }
    if (!this.#isInstrumented) for (const question of QUESTIONS) await this.#put(question);
    this.#open = new Set();
    return { ...this.#given, instrumented: this.#isInstrumented, ...this.#options() };
  }

  async #put({ name, text, usual, choices, schema, if: applies }: Question): Promise<void> {
    if (!this.#open.has(name) || applies?.(this.#texts) === false) return;
    // The prompt library is imported only when needed, because few commands ask questions.
    const { default: input } = await import('@inquirer/input');
    const textOf = (value: string | ((texts: Texts) => string) | undefined) =>
      typeof value === 'function' ? value(this.#texts) : value;
    const standard = this.#texts[name] ?? textOf(usual);
    const problemWith = (answer: string) =>
      choices
        ? choices.includes(answer) || `expected one of ${choices.join(', ')}`
        : ((schema && initOptionsSchema.shape[schema].safeParse(answer).error?.issues[0]?.message) ?? true);
    const validate = (answer: string) => answer.trim() === '' || problemWith(answer.trim());
    const message = textOf(text) ?? '';
    const answer = (await input({ message, validate, ...(standard !== undefined && { default: standard }) })).trim();
    this.#texts[name] = answer === '' ? undefined : answer;
    // The defaults of further questions about the login depend on the kind of login, so they are reset.
    if (name === 'login' && answer !== standard) for (const other of LOGIN_NAMES.slice(1)) delete this.#texts[other];
    if (name === 'url' && answer !== '') await this.#look(answer, this.#path);
  }

  get #path(): unknown {
    return this.#given.path ?? this.#texts.path;
  }

  /**
   * Examines the server before the questions about a login.
   * @throws UnsupportedServerError if no login can help
   */
  async #look(url: string, path: unknown): Promise<void> {
    if (Number(this.#given.listen) === 0 || !URL.canParse(url)) return;
    await requireSupportedProtocol(url, path as string | undefined);
  }

  #options(): InitAnswers {
    const {
      login,
      loginPath: url,
      fields = '{}',
      tokenPath: json,
      tokenPlace,
      loginEvent,
      values,
      ...others
    } = this.#texts;
    const { emit, path = DEFAULT_SOCKETIO_PATH, ...options } = others;
    const emits = [loginEvent, emit ?? (this.#given.emit as string | undefined)].filter((event) => event !== undefined);
    const isOwnPath = path !== DEFAULT_SOCKETIO_PATH && this.#given.path === undefined;
    const all: InitAnswers = {
      ...options,
      ...(isOwnPath && { path }),
      ...(emits.length > 0 && { emit: emits.join(', ') }),
    };
    const post = { url, [login === 'cookie' ? 'form' : 'json']: JSON.parse(fields) };
    const capture = { json, as: 'token' };
    if (login === 'cookie') return { ...all, login: JSON.stringify({ post }) };
    const inQuery = (text?: string) => ({ url: withQuery(String(all.url ?? this.#given.url), text) });
    const token = '{"token": "{{ token }}"}';
    if (login === 'jwt') {
      const places = {
        auth: () => ({ auth: token }),
        header: () => ({ headers: '{"Authorization": "Bearer {{ token }}"}' }),
        query: () => inQuery(token),
      };
      const carried = places[(tokenPlace ?? 'auth') as (typeof PLACES)[number]]();
      return { ...all, login: JSON.stringify({ post: { ...post, capture } }), ...carried };
    }
    if (login === 'token') return { ...all, auth: values };
    if (login === 'header') return { ...all, headers: values };
    return login === 'query' ? { ...all, ...inQuery(values) } : all;
  }
}

function withQuery(url: string, values = '{}'): string {
  const full = new URL(url);
  for (const [name, value] of Object.entries(JSON.parse(values))) full.searchParams.set(name, String(value));
  return full.href;
}

/** Returns the questions whose answers may have caused the failure. */
function concerned(error: unknown, { login, tokenPlace }: Texts): Name[] {
  if (!(error instanceof CapacityError) || error instanceof UnsupportedServerError) return [];
  if (error.code === 'EVENT_NOT_FOUND') return ['emit', 'publish'];
  if (error.code === 'PUBLISHER_CLOSED') return ['publish'];
  if (error instanceof ClientRefusedError) {
    if (error.step === 'failed_capture') return ['tokenPath'];
    if (error.step === 'failed_request') return ['loginPath', 'fields'];
    return login === 'jwt' && error.step === undefined && tokenPlace === undefined ? ['tokenPlace'] : LOGIN_NAMES;
  }
  return error.code === 'TARGET_UNREACHABLE' ? ['url', 'path'] : [];
}

/**
 * Asks questions, and converts an aborted prompt to an error.
 * @throws CapacityError CONFIG_INVALID if Ctrl-C or Ctrl-D ends the questions
 */
export async function withPrompts<T>(ask: () => Promise<T>): Promise<T> {
  const unanswered = invalidOptionError('the questions were not answered: answer all of them, or give options', 'init');
  try {
    return await waitOrFail(unanswered, ask);
  } catch (error) {
    if ((error as Error).name !== 'ExitPromptError') throw error;
    console.log();
    throw unanswered;
  }
}
