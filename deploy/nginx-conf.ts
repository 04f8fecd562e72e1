/**
 * Writes the proxy's configuration for Compose and the Helm chart, from the stack's template:
 *
 *   node deploy/nginx-conf.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NGINX_TEMPLATE, renderTemplate } from '../server/stack/nginx.ts';

/** Values of the template's placeholders, by file. */
const TARGETS = {
  'nginx.compose.conf': {
    WORKERS: 2,
    CONNECTIONS: 50_000,
    OPEN_FILES: 50_256,
    ALL_SERVERS: ['w0', 'w1'].map(server).join('\n'),
    WORKER_UPSTREAMS: ['resolver 127.0.0.11 valid=5s;', ...['w0', 'w1'].map((name) => upstream(name, name))].join('\n'),
    SESSIONS: ['~^w0- w0;', '~^w1- w1;'].join('\n'),
  },
  'helm/deployment-under-test/files/nginx.conf': {
    WORKERS: '{{ .Values.nginx.workers }}',
    CONNECTIONS: '{{ include "capacity.nginxConnections" . }}',
    OPEN_FILES: '{{ add 256 (include "capacity.nginxConnections" .) }}',
    ALL_SERVERS: forEachWorker(server('{{ include "capacity.workerHost" (list $ $index) }}')),
    WORKER_UPSTREAMS: `resolver {{ .Values.nginx.resolver }} valid=5s;\n${forEachWorker(
      upstream('w{{ $index }}', '{{ include "capacity.workerHost" (list $ $index) }}'),
    )}`,
    SESSIONS: forEachWorker('~^w{{ $index }}- w{{ $index }};'),
  },
};

/** Returns the text of each file, by its path in this folder. */
export function configurations(): Record<string, string> {
  const template = readFileSync(NGINX_TEMPLATE, 'utf8');
  return Object.fromEntries(
    Object.entries(TARGETS).map(([file, values]) => [
      file,
      `# Written by deploy/nginx-conf.ts from nginx/nginx.conf.template.\n${renderTemplate(template, { ...COMMON, ...values })}`,
    ]),
  );
}

/** Values for all containers, which have any user and a read-only root. */
const COMMON = {
  USER: '',
  DIR: '/tmp',
  ERROR_LOG: 'stderr',
  // Empty, so the kernel chooses the address: each worker has its own address, and so the full range of local ports.
  SOURCE_ADDRESSES: "* '';",
  ADDRESS: '0.0.0.0',
  PORT: 8080,
  STATUS_PORT: 8081,
  TIMEOUT_SECONDS: 120,
  TLS: '',
  LISTEN_OPTIONS: 'backlog=4096 reuseport',
};

/** `resolve` lets nginx start before its workers have addresses, and follow changes of these addresses. */
function server(host: string): string {
  return `server ${host}:3100 resolve max_fails=0;`;
}

function upstream(name: string, host: string): string {
  return `upstream ${name} { zone ${name} 64k; ${server(host)} }`;
}

function forEachWorker(line: string): string {
  return `{{- range $index := until (int .Values.workers) }}\n${line}\n{{- end }}`;
}

if (import.meta.main) {
  for (const [file, text] of Object.entries(configurations())) writeFileSync(join(import.meta.dirname, file), text);
}
