// The tables of namespaces, sources, filters and nodes, made anew each time; what is the same stays, so that it can be selected.

const byId = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function renew(body, rows) {
  while (body.children.length > rows.length) {
    body.lastElementChild.remove();
  }
  rows.forEach((made, i) => {
    const old = body.children[i];
    if (old === undefined) {
      body.append(made);
      return;
    }
    if (old.children.length !== made.children.length) {
      old.replaceWith(made);
      return;
    }
    old.className = made.className;
    [...made.children].forEach((fresh, column) => {
      if (!fresh.isEqualNode(old.children[column])) {
        old.children[column].replaceWith(fresh);
      }
    });
  });
}

function cell(column, properties, ...content) {
  const made = element('td', properties, ...content);
  made.setAttribute('role', 'cell');
  made.dataset.column = column;
  return made;
}

function under(text) {
  return element('span', {className: 'under', textContent: text});
}

function badge(grade, text) {
  return element('span', {className: 'badge ' + grade, textContent: text});
}

function bar(share) {
  const inner = element('i');
  inner.style.width = `${Math.min(100, share * 100)}%`;
  const outer = element('span', {className: 'bar'}, inner);
  outer.setAttribute('aria-hidden', 'true');
  return outer;
}

function row(...cells) {
  const made = element('tr', {}, ...cells);
  made.setAttribute('role', 'row');
  return made;
}

// Under what is not well, a row as wide as the table.
function withReason(made, {why, hint}) {
  if (!why && !hint) {
    return [made];
  }
  made.className = 'explained';
  return [made, row(cell('Why, and what to do', {className: 'wide', colSpan: made.children.length},
                         element('p', {textContent: asSentence(why, true)}),
                         element('p', {className: 'hint', textContent: asSentence(hint, true)})))];
}

// Who reads what, and which keys expire together; GUARD.TOP has more.
function withTraffic(rows, summary) {
  if (!summary) {
    return rows;
  }
  rows.at(-1).className = 'explained';
  const columns = rows[0].children.length;
  return [...rows, row(cell('Traffic', {className: 'wide', colSpan: columns}, under(asSentence(summary, true))))];
}

function stateCell(space) {
  const passes = !space.fresh || space.passing_seconds !== null;
  const grade = passes ? 'warning' : 'good';
  const words = space.fresh ? (passes ? 'passing' : space.state) : space.state === 'ready' ? 'not fresh' : space.state;
  const content = [...(space.attack === null ? [] : [badge('bad', 'attack')]), badge(space.mode === 'bypass' ? 'warning' : grade, space.mode === 'bypass' ? 'bypassed' : words)];
  if (space.loading) {
    const left = space.loading.remaining_seconds;
    content.push(bar(space.loading.fraction),
                 under(`${percent(space.loading.fraction)} of ${count(space.loading.rows_expected)} rows` +
                       (left === null ? '' : `, ${duration(left)} left`)));
  } else if (space.passing_seconds !== null && space.fresh) {
    content.push(under(`${duration(space.passing_seconds)} more`));
  } else {
    content.push(under(space.proven_seconds_ago === null ? 'not proven yet' : `proven ${duration(space.proven_seconds_ago)} ago`));
  }
  return cell('State', {className: 'state'}, ...content);
}

// What Redis had of keys that were taken for absent, and what the source said to that (guard/advice.h).
function comparedCell(space) {
  const rows = space.contradictions?.hidden_rows ?? 0;
  const early = space.read_too_early ?? {};
  const late = (space.consistency === 'strict' ? early.hidden_in_spite_of_proof : early.hidden_by_lag) ?? 0;
  return cell('Compared with Redis', {className: 'wide'}, ...(rows > 0 ? [badge('bad', `${count(rows)} hidden rows`)] : []),
              ...(late > 0 ? [badge('bad', `${count(late)} hidden just after the commit`)] : []),
              ...(space.unmatched ? [badge('warning', 'no read matches')] : []),
              under(space.advice || 'nothing is checked'));
}

function namespaceRow(name, space, before, seconds) {
  const grown = (verdict) => before && seconds > 0 ? (space.keys[verdict] - before.keys[verdict]) / seconds : NaN;
  const all = Object.keys(space.keys).map(grown).reduce((sum, one) => sum + one, 0);
  const wouldBe = space.mode === 'enforce' ? 0 : grown('observed');
  const absent = grown('absent') + wouldBe;
  const fill = space.load;
  return row(
      cell('Namespace', {className: 'name wide'}, name, under(`${space.mode}, ${space.order}, ${space.consistency}, db ${space.db}`)),
      stateCell(space),
      cell('Look-ups/s', {className: 'number'}, Number.isFinite(all) ? count(all) : UNKNOWN),
      cell(wouldBe > 0 ? 'Would be stopped' : 'Stopped', {className: 'number'}, percent(absent / all), ...(wouldBe > 0 ? [under('would be')] : []),
           ...(grown('tolerated') > 0 ? [under(`${count(grown('tolerated'))}/s tolerated`)] : [])),
      cell('Rows', {className: 'number'}, count(space.rows), under(space.filter_format || `room for ${count(space.capacity)}`),
           ...(space.isolated_rows > 0 ? [under(`${count(space.isolated_rows)} isolated`)] : [])),
      cell('Filter fill', {}, percent(fill), bar(fill)),
      cell('False positives', {className: 'number'}, percent(space.measured_false_positive_rate ?? NaN),
           under(`expected ${percent(space.expected_false_positive_rate)}`)),
      cell('Memory', {className: 'number'}, bytes(space.bytes), under(space.tables === 1 ? '1 table' : `${space.tables} tables`)),
      comparedCell(space));
}

function fleetWords(source) {
  const {fleet_state: state, fleet_followers: followers, fleet_followers_behind: behind} = source;
  if (source.fleet_role === 'follower') {
    return `follows ${source.fleet_builder || 'no builder'}, entry ${count(source.fleet_entry)}`;
  }
  return followers === undefined ? state : `${state} to ${count(followers)} followers, ${count(behind)} behind`;
}

function sourceRow(name, source) {
  const grade = {following: 'good', loading: 'warning', down: 'bad', refused: 'bad'}[source.state];
  return row(
      cell('Source', {className: 'name wide'}, name, under(source.type)),
      cell('State', {}, badge(grade, source.state)),
      cell('Lag', {className: 'number'}, duration(source.proven_seconds_ago ?? NaN)),
      cell('Position', {className: 'position wide'}, source.position ?? 'none: read again as a whole',
           ...(source.log_retained === null ? [] : [under(`${bytes(source.log_retained)} of its log kept for this guard`)]),
           ...(source.fleet_role === undefined ? [] : [under(fleetWords(source))]),
           ...(source.flush_transactions_per_hour > 0 ? [under(`flushed by ${count(source.flush_transactions_per_hour)} transactions in the last hour`)] : [])),
      cell('Connection losses', {className: 'number'}, count(source.losses)));
}

function nodeRow(node) {
  const role = {master: 'good', replica: 'good', failing: 'bad', unknown: 'warning'}[node.role];
  const state = {up: 'good', down: 'bad', never: 'warning'}[node.state];
  return row(
      cell('Node', {className: 'name wide'}, node.address),
      cell('Guard port', {className: 'number'}, node.port === null ? 'none' : String(node.port)),
      cell('Role', {}, badge(role, node.role)),
      cell('Slots', {className: 'number'}, node.slots.toLocaleString('en')),
      cell('State', {}, badge(state, node.state === 'never' ? 'not tried' : node.state)),
      cell('Latency', {className: 'number'}, duration(node.latency ?? NaN)));
}

function showNodes(nodes) {
  byId('nodes-section').hidden = nodes === null;
  renew(byId('nodes'), (nodes?.all ?? []).flatMap((node) => withReason(nodeRow(node), node.control)));
}

function filterRow(filter) {
  const words = filter.layers === 0 ? 'empty' : filter.ready ? 'ready' : 'unknown';
  return row(
      cell('Filter', {className: 'name wide'}, filter.key, under(filter.name === null || filter.name === filter.key ? filter.kind : `${filter.kind}, ${filter.name}`)),
      cell('State', {}, badge(filter.ready ? 'good' : 'warning', words)),
      cell('Items', {className: 'number'}, count(filter.items), under(`room for ${count(filter.capacity)}`)),
      cell('False positives', {className: 'number'}, percent(filter.false_positive_rate), under('at most')),
      cell('Memory', {className: 'number'}, bytes(filter.bytes), under(filter.layers === 1 ? '1 layer' : `${filter.layers} layers`)),
      cell('Expires', {className: 'number'}, filter.expires_seconds === null ? 'never' : `in ${duration(filter.expires_seconds)}`));
}

function showFilters(filters) {
  byId('filters-section').hidden = filters === null;
  if (filters === null) {
    return;
  }
  const unshown = filters.count - filters.shown.filter((one) => one.layers > 0).length;
  const log = filters.log === null ? [] : [`log ${filters.log.state}, entry ${filters.log.seq.toLocaleString('en')}, ${count(filters.log.waiting)} changes waiting`];
  byId('filters-sum').textContent = [
    `${count(filters.count)} of ${count(filters.max_filters)} filters`, `${bytes(filters.bytes)} of ${bytes(filters.max_memory)}`,
    `${count(filters.items)} items`, `kept by ${filters.durability === 'redis' ? 'Redis' : 'this process'}`, ...log,
    ...(unshown > 0 ? [`${count(unshown)} smaller filters not shown`] : [])].join('; ');
  renew(byId('filters'), filters.shown.map(filterRow));
}

// `before`: a status of some seconds ago.
function showTables(status, before) {
  const seconds = status.totals.at - before.totals.at;
  renew(byId('namespaces'),
        Object.entries(status.namespaces).flatMap(
            ([name, space]) => withTraffic(withReason(namespaceRow(name, space, before.namespaces[name], seconds), space),
                                           space.traffic?.summary)));
  renew(byId('sources'), Object.entries(status.sources).flatMap(([name, source]) => withReason(sourceRow(name, source), source)));
  showFilters(status.filters);
  showNodes(status.nodes);
}
