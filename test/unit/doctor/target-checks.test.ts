/** Tests findings of `doctor --target` that no real server of the tests causes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeCertificate } from '../../../plugin/doctor/target/check-certificate.ts';
import { explainEarlyClose } from '../../../plugin/doctor/target/check-idle.ts';
import { clockFinding } from '../../../plugin/doctor/target/controls.ts';
import { endKind } from '../../helpers/measurements.ts';

const certificate = {
  valid_from: 'Jan  1 00:00:00 2026 GMT',
  valid_to: 'Jan 31 00:00:00 2026 GMT',
  subject: { CN: 'old name' } as never,
  subjectaltname: 'DNS:staging.example.com, IP Address:10.0.0.5',
};

const judged = (problem: string | undefined, day: string, rejectUnauthorized?: boolean) =>
  judgeCertificate(certificate, problem, 'staging.example.com', rejectUnauthorized, Date.parse(day));

test('the doctor warns about a certificate that expires soon, has an unknown authority, or is not checked by the load', () => {
  const soon = judged(undefined, '2026-01-28');
  assert.deepEqual([soon.status, /2026-01-31: 3 days/.test(soon.found)], ['warning', true]);
  assert.match(judged('SELF_SIGNED_CERT_IN_CHAIN', '2026-01-02').fix ?? '', /\{ca: authority\.pem\}/);
  assert.equal(judged('CERT_HAS_EXPIRED', '2026-03-01', false).status, 'warning');
});

test('the doctor explains why the server closed an idle connection', () => {
  const cycle = { pingInterval: 25_000 };
  for (const [reason, ageMs, silentMs, expected, code, pingTimeout = 20_000] of [
    ['transport close', 35_000, 10_000, /about 10 s/],
    ['transport close', 25_100, 100, /too early/],
    ['ping timeout', 45_000, 45_000, /no ping came for 45 s/],
    ['io server disconnect', 5000, 5000, /authentication/],
    [
      'transport close',
      4000,
      4000,
      /after 4\.0 s, the server closed it with 4001 \(a code of the application’s own: "session expired"\)/,
      4001,
    ],
    ['transport close', 2000, 5, /only 1 ms to answer a ping.*raise `pingTimeout`/, undefined, 1],
  ] as const) {
    const details = code && { found: endKind({ reason, cause: `closed_${code}`, closeText: 'session expired' }) };
    const { found, fix } = explainEarlyClose({ reason, ...details, ageMs, silentMs }, { ...cycle, pingTimeout });
    assert.match(`${found} ${fix}`, expected);
  }
});

test('the doctor warns about a clock only if its offset is uncertain', () => {
  const statusOf = (offsetUs: number, uncertaintyUs: number) => clockFinding({ offsetUs, uncertaintyUs }).status;
  assert.deepEqual([statusOf(-5e6, 110), statusOf(0, 15_000)], ['ok', 'warning']);
});
