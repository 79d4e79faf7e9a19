import http from 'k6/http';
import { check, group, sleep } from 'k6';

export const options = {
  stages: [
    { duration: '10s', target: 5 },
    { duration: '20s', target: 5 },
  ],
  thresholds: {
    http_req_duration: ['p(95)<500', { threshold: 'avg<200', abortOnFail: true }],
    http_req_failed: ['rate<0.01'],
    my_metric: ['count>1'],
  },
};

const BASE = __ENV.BASE || 'http://127.0.0.1:8000';
const HEADERS = { 'Content-Type': 'application/json', 'X-Trace': 'k6' };

export function setup() {
  return { token: 'x' };
}

export default function () {
  const page = http.get(`${BASE}/products?page=1`);
  check(page, { 'is 200': (r) => r.status === 200, 'is fast': (r) => r.timings.duration < 200 });
  sleep(0.1);
  group('buy', () => {
    const order = JSON.stringify({ product: 7, tags: ['a', "b\n"] });
    http.post(`${BASE}/api/orders`, order, { headers: HEADERS, tags: { name: 'order' } });
    http.post(BASE + '/profile', { city: 'New York' });
  });
  http.batch([
    ['GET', `${BASE}/a`],
    ['PUT', `${BASE}/b`, JSON.stringify({ on: true }), { headers: HEADERS }],
    `${BASE}/c`,
  ]);
  http.del(`${BASE}/orders/3`);
}
