/**
 * Runs V8's heap or CPU profiler in an inspector session inside the process. A worker with a control port calls this
 * function. In other processes, the run evaluates the function's source text.
 */
import type { PROFILE_LIMITS, ProfileKind, V8Profile } from './profile-schema.ts';

/** Inspector session within the same process. It calls the callback before `post` returns. */
interface Session {
  connect(): void;
  disconnect(): void;
  // biome-ignore lint/suspicious/noExplicitAny: a schema parses the result of V8's answer
  post(method: string, params?: object, callback?: (error: Error | null, answer: any) => void): void;
}

interface Running {
  session: Session;
  kind: ProfileKind;
  processUs: number;
  threadUs: number | undefined;
  end(): void;
}

interface ProfileModules {
  inspector: { Session: new () => Session };
  fs: { readFileSync(path: string, encoding: 'utf8'): string; readdirSync(path: string): string[] };
}

/**
 * JavaScript source text of an expression that loads the required Node modules. It works in ES modules and in CommonJS.
 */
export const PROFILE_MODULES_SOURCE = `(({ getBuiltinModule: load = require }) => ({ inspector: load('node:inspector'), fs: load('node:fs'), v8: load('node:v8') }))(process)`;

export type ProfileAction = 'start' | 'take' | 'end';

/**
 * Starts, takes or discards a profile. `start` replaces a running profile, `take` ends and returns it, `end` discards
 * it. The function uses nothing outside itself, because its source text is also evaluated in other processes, even on
 * Node 18.
 * @returns the profile, or the reason why the process cannot be profiled
 */
export function profileProcess(
  { inspector, fs }: ProfileModules,
  limits: typeof PROFILE_LIMITS,
  action: ProfileAction,
  kind: ProfileKind,
): { profile?: V8Profile; failure?: string } {
  const KEY = Symbol.for('socketio-capacity.profile');
  const slot = process as unknown as { [KEY]?: Running | undefined };
  /** Returns the CPU time of a thread of this process; undefined if the kernel does not report it. */
  const threadUs = (thread = 'thread-self') => {
    try {
      return Number(fs.readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;
    } catch {
      return undefined;
    }
  };
  /**
   * Returns the CPU time of V8's threads that sample the profiled thread. They use CPU even if the profiled thread is
   * idle.
   */
  const profilerUs = () => {
    let sum = 0;
    try {
      for (const id of fs.readdirSync('/proc/self/task')) {
        const isProfiler = fs.readFileSync(`/proc/self/task/${id}/comm`, 'utf8').startsWith('v8:ProfEvnt');
        if (isProfiler) sum += threadUs(`self/task/${id}`) ?? 0;
      }
    } catch {}
    return sum;
  };
  const processUs = () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };

  function start(): void {
    slot[KEY]?.end();
    const session = new inspector.Session();
    session.connect();
    const end = () => {
      clearTimeout(timer);
      if (slot[KEY] === running) delete slot[KEY];
      try {
        session.disconnect();
      } catch {}
    };
    const timer = setTimeout(end, limits.longestMs[kind]);
    timer.unref();
    const running: Running = { session, kind, end, processUs: 0, threadUs: undefined };
    slot[KEY] = running;
    const interval = limits.interval[kind];
    if (kind === 'heap') post(session, 'HeapProfiler.startSampling', { samplingInterval: interval });
    else {
      post(session, 'Profiler.enable');
      post(session, 'Profiler.setSamplingInterval', { interval });
      post(session, 'Profiler.start');
    }
    // Reading the CPU time of the process makes the kernel update its count for the thread. Otherwise, that count is up
    // to 4 ms old.
    running.processUs = processUs();
    running.threadUs = threadUs();
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  function post(session: Session, method: string, params = {}): any {
    let found: unknown;
    let failure: Error | null = null;
    session.post(method, params, (error, answer) => {
      failure = error;
      found = answer;
    });
    if (failure) throw failure;
    return found;
  }

  function take({ session, ...began }: Running): V8Profile {
    const cpu = { processUs: processUs() - began.processUs - profilerUs(), threadUs: threadUs() };
    cpu.processUs = Math.max(0, cpu.processUs);
    if (cpu.threadUs !== undefined) cpu.threadUs -= began.threadUs ?? Number.NaN;
    if (began.kind === 'heap') {
      post(session, 'HeapProfiler.collectGarbage');
      const { head } = post(session, 'HeapProfiler.getSamplingProfile').profile;
      const nodes = flat(
        head,
        (node) => node.children,
        (node) => node.selfSize,
      );
      return { kind: began.kind, ...nodes };
    }
    const { nodes, samples, timeDeltas, startTime, endTime } = post(session, 'Profiler.stop').profile;
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const byId = new Map<number, any>(nodes.map((node: any) => [node.id, node]));
    let lastUs = startTime;
    const sampled = samples.map((id: number, index: number) => {
      lastUs += timeDeltas[index];
      // A sample of the profile lasts until the next sample.
      const us = Math.max(0, index + 1 < samples.length ? timeDeltas[index + 1] : endTime - lastUs);
      return { id, us, isIdle: byId.get(id)?.callFrame.functionName === '(idle)' };
    }) as { id: number; us: number; isIdle: boolean }[];
    const longestUs = longestOnCpu(
      sampled.filter(({ isIdle }) => !isIdle).map(({ us }) => us),
      cpu.threadUs ?? Number.POSITIVE_INFINITY,
    );
    const usById = new Map<number, number>();
    for (const { id, us, isIdle } of sampled)
      usById.set(id, (usById.get(id) ?? 0) + (isIdle ? us : Math.min(us, longestUs)));
    const children = (node: { children?: number[] }) => (node.children ?? []).map((id) => byId.get(id));
    return { kind: began.kind, ...flat(nodes[0], children, (node) => usById.get(node.id) ?? 0), cpu };
  }

  /**
   * Returns the length to which samples are cut, so that all samples add up to the time in which the thread had a core.
   * A waiting thread is not sampled, so the longest samples are those in which it waited.
   */
  function longestOnCpu(samplesUs: number[], onCpuUs: number): number {
    let leftUs = onCpuUs;
    for (const [index, us] of samplesUs.sort((a, b) => a - b).entries()) {
      const cutUs = leftUs / (samplesUs.length - index);
      if (us > cutUs) return cutUs;
      leftUs -= us;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Flattens the call tree. Callers come before the functions that they call. Nodes beyond the limits are left out. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  function flat(root: any, childrenOf: (node: any) => any[], selfOf: (node: any) => number): Omit<V8Profile, 'kind'> {
    const cut = (text: unknown) => String(text).slice(0, limits.text);
    const nodes: V8Profile['nodes'] = [];
    let text = 0;
    const open = [[root, -1]];
    for (const [node, parent] of open) {
      const { functionName, url, lineNumber } = node.callFrame;
      const found = { name: cut(functionName), url: cut(url), line: lineNumber + 1, self: selfOf(node), parent };
      text += found.name.length + found.url.length;
      if (nodes.length >= limits.nodes || text > limits.allText) break;
      for (const child of childrenOf(node)) open.push([child, nodes.length]);
      nodes.push(found);
    }
    return { folder: cut(process.cwd()), nodes };
  }

  // Deno 2.9.6 crashes if a process opens an inspector session to itself.
  if ('Deno' in globalThis || 'Bun' in globalThis) return { failure: 'only Node can be profiled' };
  const running = slot[KEY];
  try {
    if (action === 'start') {
      start();
      return {};
    }
    if (!running) return action === 'end' ? {} : { failure: 'no profile is running' };
    return action === 'end' ? {} : { profile: take(running) };
  } catch (error) {
    slot[KEY]?.end();
    return { failure: String((error as Error).message).slice(0, limits.text) };
  } finally {
    if (action !== 'start') running?.end();
  }
}
