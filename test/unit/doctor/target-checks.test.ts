/** How `doctor --target` names what it found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../../../plugin/doctor/target/certificate.ts';
import { clockOf } from '../../../plugin/doctor/target/controls.ts';
import { explain } from '../../../plugin/doctor/target/idle.ts';
import { printCheck } from '../../../plugin/doctor/target/target-check.ts';
import { refusal } from '../../../plugin/doctor/target/upgrade.ts';

const certificate = {
  valid_from: 'Jan  1 00:00:00 2026 GMT',
  valid_to: 'Jan 31 00:00:00 2026 GMT',
  subject: { CN: 'old name' } as never,
  subjectaltname: 'DNS:staging.example.com, IP Address:10.0.0.5',
};
const judged = (problem: string | undefined, day: string, rejectUnauthorized?: boolean) =>
  judge(certificate, problem, 'staging.example.com', rejectUnauthorized, Date.parse(day));

test('a certificate: valid, about to expire, and what is wrong with it', () => {
  assert.deepEqual(judged(undefined, '2026-01-02'), {
    status: 'ok',
    found: 'valid for staging.example.com, until 2026-01-31',
  });
  assert.match(judged(undefined, '2026-01-28').found, /until 2026-01-31: 3 days/);
  assert.equal(judged(undefined, '2026-01-28').status, 'warning');
  const expired = judged('CERT_HAS_EXPIRED', '2026-03-01');
  assert.deepEqual([expired.status, expired.found], ['failed', 'it expired on 2026-01-31']);
  assert.match(
    judged('ERR_TLS_CERT_ALTNAME_INVALID', '2026-01-02').found,
    /for staging\.example\.com, 10\.0\.0\.5, and not/,
  );
  assert.match(judged('SELF_SIGNED_CERT_IN_CHAIN', '2026-01-02').fix ?? '', /\{ca: authority\.pem\}/);
  assert.equal(judged('CERT_HAS_EXPIRED', '2026-03-01', false).status, 'warning', 'the load does not check it');
});

test('why there is no WebSocket', () => {
  const cases: [status: number, body: string, fix: RegExp][] = [
    [400, '{"code":3,"message":"Bad request"}', /proxy_set_header Upgrade \$http_upgrade/],
    [400, '{"code":0,"message":"Transport unknown"}', /TRANSPORTS=polling/],
    [404, '<html>nginx</html>', /\/chat\//],
    [502, '', /no worker/],
    [403, 'Forbidden', /`headers`/],
  ];
  for (const [status, body, fix] of cases) assert.match(refusal(status, body, '/chat/')[1], fix);
  assert.equal(refusal(404, '<html>nginx</html>', '/')[0], 'HTTP 404');
});

test('what cut a silent connection', () => {
  const cycle = { pingInterval: 25_000, pingTimeout: 20_000 };
  const cut = (reason: string, ageMs: number, silentMs: number) => explain({ reason, ageMs, silentMs }, cycle);
  assert.match(cut('transport close', 10_000, 10_000).found, /idle time-out in between of about 10 s .* cycle of 45 s/);
  assert.match(cut('transport close', 35_000, 10_000).found, /about 10 s/, 'counted from the last ping');
  assert.match(cut('transport close', 25_100, 100).found, /too early to be an idle time-out/);
  assert.match(cut('ping timeout', 45_000, 45_000).found, /no ping came for 45 s, .* every 25 s/);
  assert.match(cut('io server disconnect', 5000, 5000).fix, /authentication/);
});

test('a clock is known well enough, or not', () => {
  const statusOf = (offsetUs: number, uncertaintyUs: number) => clockOf({ offsetUs, uncertaintyUs }).status;
  assert.deepEqual([statusOf(-5e6, 110), statusOf(0, 15_000)], ['ok', 'warning']);
});

test('a check is a line, and its fix another', () => {
  const check = { name: 'idle', status: 'failed', tried: 'one connection', found: 'cut', fix: 'raise it' } as const;
  assert.equal(printCheck(check, 100), 'failed  one connection: cut\n        fix: raise it');
});
