// The page: asks /status once a second (and /history for what was before), works out rates, and says what is.
//
// Totals are kept for five minutes; the tiles are of the last seconds, so that they move but do not tremble.

const SECONDS_KEPT = MINUTES_SHOWN * 60;
const SMOOTHED_OVER = 5;  // totals, that is seconds
const TRIES_EVERY = 1000;
const PATIENCE = 5000;

const setText = (id, text) => { byId(id).textContent = text; };

// What is known.
let totals = [];    // of the last minutes, the newest last
let statuses = [];  // the last few
let events = [];    // the newest last
let answeredAt = 0;
let charts = null;
let lagChart = null;

// ---------- asking ----------

function token() {
  try {
    return sessionStorage.getItem('token') ?? '';
  } catch {
    return '';  // the browser keeps nothing: it is asked for again when the page is loaded again
  }
}

async function ask(path) {
  const headers = askedToken || token() ? {Authorization: 'Bearer ' + (askedToken || token())} : {};
  const response = await fetch(path, {headers, cache: 'no-store', signal: AbortSignal.timeout(PATIENCE)});
  if (response.status === 401) {
    throw new Refused();
  }
  if (!response.ok) {
    throw new Error(`${path}: ${response.status}`);
  }
  return response.json();
}

class Refused extends Error {}

let askedToken = '';

function askForToken() {
  const wasGiven = askedToken !== '' || token() !== '';
  askedToken = '';
  byId('login').hidden = false;
  byId('all').hidden = true;
  setText('login-trouble', wasGiven ? 'Wrong token: enter the word in that file.' : '');
  setText('pulse', 'waiting for the token');
  byId('token').focus();
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  askedToken = byId('token').value;
  try {
    sessionStorage.setItem('token', askedToken);
  } catch {
    // It is then known until the page is loaded again.
  }
  byId('token').value = '';
  byId('login').hidden = true;
  poll();
});

async function poll() {
  try {
    const after = events.length > 0 ? events[events.length - 1].number : 0;
    const status = await take(await ask('status?events_after=' + after));
    answeredAt = Date.now();
    byId('all').hidden = false;
    show(status);
    setText('pulse', 'live');
    byId('pulse').className = '';
  } catch (error) {
    if (error instanceof Refused) {
      askForToken();
      return;
    }
    const since = answeredAt === 0 ? '' : ' for ' + duration((Date.now() - answeredAt) / 1000);
    setText('pulse', `no answer${since} (${error.message}): check whether the guard is running; retrying every second`);
    byId('pulse').className = 'lost';
  }
  setTimeout(poll, TRIES_EVERY);
}

// Another process has other numbers; one that was not asked for a while has them in its history.
async function take(heard) {
  let status = heard;
  const last = totals[totals.length - 1];
  const now = status.totals;
  if (last === undefined || now.at < last.at || now.absent < last.absent || now.passed < last.passed) {
    statuses = [];
    events = [];
    totals = await ask('history');
    status = await ask('status');
  } else if (now.at - last.at > 3 * SMOOTHED_OVER) {
    totals = await ask('history');
  }
  totals.push(status.totals);
  totals = totals.filter((one) => one.at > status.totals.at - SECONDS_KEPT - SMOOTHED_OVER - 1);
  statuses = [...statuses, status].slice(-SMOOTHED_OVER - 1);
  events = [...events, ...status.events].slice(-200);
  return status;
}

// ---------- what it comes to ----------

function stateSentence(status) {
  const names = Object.keys(status.namespaces);
  const modes = new Set(Object.values(status.namespaces).map((space) => space.mode));
  const who = names.length === 1 ? `Namespace ${names[0]} is ready` : `All ${names.length} namespaces are ready`;
  return who + (modes.size === 1 && !modes.has('enforce') ? `, in mode ${[...modes][0]}.` : '.');
}

// Of what the guard itself calls a problem, in its own words.
function problemItem(problem) {
  return element('div', {className: 'problem'},
                 element('p', {}, element('b', {textContent: problem.what + ':'}), ' ' + asSentence(problem.why, false)),
                 element('p', {className: 'hint', textContent: asSentence(problem.hint, true)}));
}

function showVerdict(status) {
  const {problems} = status;
  const made = problems.length === 0 ? [element('p', {textContent: stateSentence(status)})] : problems.map(problemItem);
  const worst = problems.some((one) => one.grade === 'bad') ? 'bad' : problems[0]?.grade ?? 'good';
  byId('verdict').className = 'card verdict is-' + worst;
  const shown = byId('sentence').children;
  if (shown.length !== made.length || made.some((one, i) => !one.isEqualNode(shown[i]))) {  // it is read out when it changes
    byId('sentence').replaceChildren(...made);
  }
  const minuteAgo = totals.find((one) => one.at > status.totals.at - 60) ?? status.totals;
  const share = shareBetween(minuteAgo, status.totals);
  setText('stopped-sentence', Number.isFinite(share) ? `${percent(share)} of guarded look-ups stopped in the last minute.`
                                                     : 'No guarded look-ups in the last minute.');
  document.title = (problems.length > 0 ? '! ' : '') + 'Cuckoo Guard';
}

function showRedis({redis, nodes}) {
  const {up, role, state} = redis;
  if (nodes !== null) {
    const are = (name, value) => nodes.all.filter((node) => node[name] === value).length;
    setText('tile-redis', up === null ? UNKNOWN : `${are('state', 'up')} up`);
    setText('tile-redis-role', `${are('role', 'master')} masters, ${are('role', 'replica')} replicas`);
    return;
  }
  setText('tile-redis', up === null ? UNKNOWN : up ? 'up' : 'down');
  setText('tile-redis-role', up === null ? 'not queried yet' : `${role ?? 'role unknown'}, ${state.replaceAll('_', ' ')}`);
}

function showTiles(status) {
  const now = status.totals;
  const before = totals[Math.max(0, totals.length - 1 - SMOOTHED_OVER)];
  const known = now.at > before.at;
  const rates = ratesBetween(before, now);
  const latency = (share) => duration(quantileBetween(before, now, status.reply_time_bounds, share));
  setText('tile-rate', known ? count(rates.absent + rates.passed + rates.unguarded) : UNKNOWN);
  setText('tile-share', percent(shareBetween(before, now)));
  setText('tile-latency', known ? latency(.99) : UNKNOWN);
  setText('tile-median', known ? `median ${latency(.5)}` : '');
  setText('tile-lag', now.lag.length === 0 || now.lag.includes(null) ? UNKNOWN : duration(Math.max(...now.lag)));
  showRedis(status);
  const clients = status.workers.map((worker) => worker.clients);
  setText('tile-clients', count(clients.reduce((sum, one) => sum + one, 0)));
  setText('tile-workers', `on ${clients.length} ${clients.length === 1 ? 'worker' : 'workers'}`);
}

// ---------- charts ----------

const LAG_LINES = [{colour: 'stopped'}, {colour: 'passed', dash: [6, 3]}, {colour: 'second', dash: [2, 3]}, {colour: 'unguarded', dash: [9, 3, 2, 3]}];

function makeCharts() {
  charts = {
    rate: new Chart('chart-rate', [{name: 'Stopped', colour: 'stopped'}, {name: 'Passed', colour: 'passed'}, {name: 'Unguarded', colour: 'unguarded'}],
                    count, {stackedGraph: true, fillAlpha: .45}),
    share: new Chart('chart-share', [{name: 'Stopped', colour: 'stopped'}], percent, {valueRange: [0, 1.04], fillGraph: true, fillAlpha: .15}),
    latency: new Chart('chart-latency', [{name: 'p99', colour: 'passed', dash: [6, 3]}, {name: 'Median', colour: 'stopped'}], duration,
                       {decades: [-5, -2]}),
  };
}

function showCharts(status) {
  if (charts === null) {
    makeCharts();
  }
  const bounds = status.reply_time_bounds;
  const rows = {rate: [], share: [], latency: [], lag: []};
  totals.forEach((now, i) => {
    if (i === 0) {
      return;
    }
    const before = totals[i - 1];
    const earlier = totals[Math.max(0, i - SMOOTHED_OVER)];
    const rates = ratesBetween(before, now);
    rows.rate.push([now.at, rates.absent, rates.passed, rates.unguarded]);
    rows.share.push([now.at, shareBetween(before, now)]);
    rows.latency.push([now.at, quantileBetween(earlier, now, bounds, .99), quantileBetween(earlier, now, bounds, .5)]);
    rows.lag.push([now.at, ...now.lag.map((age) => age ?? NaN)]);
  });
  for (const [name, chart] of Object.entries(charts)) {
    chart.draw(rows[name]);
  }
  showLag(Object.keys(status.sources), rows.lag);
}

// Of the first few sources: more lines would tell nobody anything.
function showLag(names, rows) {
  byId('chart-lag').hidden = names.length === 0;
  const shown = names.slice(0, LAG_LINES.length);
  if (shown.length > 0 && lagChart?.names !== shown.join()) {
    lagChart?.chart.graph.destroy();
    byId('chart-lag').querySelector('.plot').replaceWith(element('div', {className: 'plot'}));
    const lines = shown.map((name, i) => ({name, ...LAG_LINES[i]}));
    lagChart = {names: shown.join(), chart: new Chart('chart-lag', lines, duration, {decades: [-4, 0]})};
  }
  lagChart?.chart.draw(rows.filter((row) => row.length === names.length + 1).map((row) => row.slice(0, shown.length + 1)));
}

// ---------- process ----------

function showProcess(status) {
  const before = statuses[0];
  const seconds = status.totals.at - before.totals.at;
  const used = (status.process.cpu_seconds - before.process.cpu_seconds) / seconds;
  const unseen = Object.entries(status.unchecked_reads).filter(([, reads]) => reads > 0)
      .map(([reason, reads]) => `${count(reads)} ${reason.replaceAll('_', ' ')}`);
  const untold = status.redis.control ?? status.nodes?.all.map((node) => node.control).find((control) => control.why);
  const facts = {
    'CPU': seconds > 0 ? percent(used) + ' of a core' : UNKNOWN,
    'Memory': bytes(status.process.resident_bytes),
    'Open descriptors': `${count(status.process.open_descriptors)} of ${count(status.process.descriptors_max)}`,
    'Clients by worker': status.workers.map((worker) => count(worker.clients)).join(', '),
    'Unchecked reads': unseen.length > 0 ? unseen.join(', ') : 'none',
    'Missing permissions': untold?.why ? `${untold.why}; ${untold.hint}` : 'none',
  };
  byId('process').replaceChildren(...Object.entries(facts).flatMap(
      ([name, text]) => [element('dt', {textContent: name}), element('dd', {textContent: text})]));
}

// ---------- events ----------

let eventsShown = 0;

function eventItem(event) {
  const time = new Date(event.time * 1000);
  const [, name, rest] = /^event=(\S+) ?(.*)$/s.exec(event.text) ?? [null, '', event.text];
  return element('li', {},
                 element('time', {dateTime: time.toISOString(), textContent: time.toLocaleTimeString('en', {hour12: false})}),
                 element('span', {className: 'level-' + event.level, textContent: event.level}),
                 element('p', {}, element('b', {textContent: name.replaceAll('_', ' ')}), ' ' + rest));
}

function showEvents() {
  const newest = events.length === 0 ? 0 : events[events.length - 1].number;
  if (newest !== eventsShown) {
    eventsShown = newest;
    byId('events').replaceChildren(...events.map(eventItem).reverse());
  }
}

function show(status) {
  setText('version', 'version ' + status.version);
  setText('uptime', 'up ' + duration(status.uptime_seconds));
  showVerdict(status);
  showTiles(status);
  showCharts(status);
  showTables(status, statuses[0]);
  showProcess(status);
  showEvents();
}

poll();
