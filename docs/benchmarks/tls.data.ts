/** Table of the costs of TLS: each report with TLS next to the one that differs in nothing else. */
import { isUsable } from '../../report/figures/measured-figures.ts';
import { at, figureRow, inMarkdown, type SideBySide, sideBySide } from '../figures.ts';
import { type Report, readReports } from '../reports/reports.ts';

const TLS: SideBySide = {
  title: 'Figures without and with TLS',
  published: [],
  rows: [
    ['TLS', [], ({ run }) => (/^(https|wss):/.test(run.target) ? 'on' : 'off')],
    figureRow('memory.perConnectionBytes.nginxPss.slope'),
    figureRow('cpu.nginx.rampSecondsPerThousandConnects'),
    ['Fleet per connection, KB', [], at('memory.perConnectionBytes.fleetPss.slope', 'kilobytes')],
    ['Fleet CPU per 1,000 connects, s', [], at('cpu.fleet.rampSecondsPerThousandConnects', 'cpuSeconds')],
    figureRow('connections.connectMs.p50'),
  ],
};

/** `table` is HTML. */
export declare const data: { table: string };

export default { watch: ['../reports/*/result.json'], load: () => tls(readReports()) };

export function tls(reports: Report[]): typeof data {
  const pairs = reports.flatMap((secure) => {
    if (secure.differences.join() !== 'TLS') return [];
    const plain = reports.find(({ size }) => `${size}-tls` === secure.size);
    return plain && isUsable(plain.result) && isUsable(secure.result) ? [plain.result, secure.result] : [];
  });
  return { table: inMarkdown(sideBySide(TLS, pairs)) };
}
