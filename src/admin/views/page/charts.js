// A chart of the last five minutes, by dygraphs: what it shows is named and told in words beside it, and in its accessible
// name; with the arrow keys one walks along it.

const MINUTES_SHOWN = 5;

// No others: the legend's would write style attributes, which the page's policy forbids.
Dygraph.PLUGINS = [Dygraph.Plugins.Axes, Dygraph.Plugins.Grid];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

class Chart {
  // series: [{name, colour, dash?}]; value: a number as text. With `decades` the scale is of powers of ten, from the first
  // of them to what is shown, or the second.
  constructor(id, series, value, {decades, ...options} = {}) {
    this.figure = document.getElementById(id);
    this.title = this.figure.querySelector('h2').textContent;
    this.output = this.figure.querySelector('output');
    this.plot = this.figure.querySelector('.plot');
    this.series = series;
    this.value = value;
    this.decades = decades;
    this.rows = [];
    this.selected = null;
    this.makeLegend();
    this.graph = new Dygraph(this.plot, [[0, ...series.map(() => NaN)]], {
      labels: ['seconds', ...series.map((one) => one.name)],
      legend: 'never',
      strokeWidth: 1.75,
      highlightCircleSize: 3,
      valueRange: decades ? this.rangeOfDecades() : [0, null],
      interactionModel: {},
      animatedZooms: false,
      xRangePad: 0,
      axisLineWidth: 1,
      gridLineWidth: 1,
      highlightCallback: (event, x, points, row) => this.select(row, false),
      unhighlightCallback: () => this.select(null, false),
      axes: {
        x: {drawGrid: false, ticker: (from, to) => this.ticksOfTime(to), axisLabelWidth: 60},
        y: {
          axisLabelWidth: 52,
          pixelsPerLabel: 36,
          axisLabelFormatter: (number) => number === 0 ? '0' : value(number),
          ...(decades ? {logscale: true, ticker: () => this.ticksOfDecades()} : {}),
        },
      },
      ...options,
      ...this.colours(),
    });
    this.plot.setAttribute('role', 'img');
    this.plot.tabIndex = 0;
    this.plot.addEventListener('keydown', (event) => this.walk(event));
    this.plot.addEventListener('blur', () => this.select(null, false));
    new ResizeObserver(() => this.graph.resize()).observe(this.plot);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.graph.updateOptions(this.colours());
      this.makeLegend();
      this.tell();
    });
  }

  colours() {
    const dashes = this.series.map((one) => [one.name, {strokePattern: one.dash ?? null}]);
    return {
      colors: this.series.map((one) => colour(one.colour)),
      axisLineColor: colour('line'),
      gridLineColor: colour('line'),
      series: Object.fromEntries(dashes),
    };
  }

  makeLegend() {
    this.numbers = this.series.map((one) => {
      const swatch = document.createElement('i');
      swatch.className = 'swatch';
      swatch.style.background = colour(one.colour);
      const number = document.createElement('b');
      const item = document.createElement('span');
      item.append(swatch, one.name + ' ', number);
      return {item, number};
    });
    this.when = document.createElement('span');
    this.output.replaceChildren(this.when, ...this.numbers.map((one) => one.item));
  }

  ticksOfTime(now) {
    const ticks = [];
    for (let minute = 0; minute <= MINUTES_SHOWN; ++minute) {
      ticks.push({v: now - minute * 60, label: minute === 0 ? 'now' : `${minute}${NARROW}min ago`});
    }
    return ticks.filter((tick, i) => i % (this.plot.clientWidth < 430 ? 2 : 1) === 0 && i < MINUTES_SHOWN);
  }

  rangeOfDecades() {
    const [first, last] = this.decades;
    const shown = this.rows.flatMap((row) => row.slice(1)).filter((number) => number > 0);
    return [10 ** first, 10 ** Math.max(last, Math.ceil(Math.log10(Math.max(...shown, 10 ** first))))];
  }

  ticksOfDecades() {
    const [low, high] = this.rangeOfDecades();
    const ticks = [];
    for (let number = low; number < high * 1.5; number *= 10) {
      ticks.push({v: number, label: this.value(number)});
    }
    return ticks;
  }

  // rows: [[seconds, number of the first series, ...]], the newest last.
  draw(rows) {
    this.rows = rows;
    const now = rows.length > 0 ? rows[rows.length - 1][0] : 0;
    this.graph.updateOptions({...(this.decades ? {valueRange: this.rangeOfDecades()} : {}),
                              file: rows.length > 0 ? rows : [[0, ...this.series.map(() => NaN)]],
                              dateWindow: [now - MINUTES_SHOWN * 60, now]});
    this.tell();
  }

  // Of the selected moment, or of now.
  tell() {
    const row = this.rows[this.selected ?? this.rows.length - 1];
    const words = this.series.map((one, i) => {
      const text = row === undefined ? UNKNOWN : this.value(row[i + 1]);
      this.numbers[i].number.textContent = text;
      return `${one.name} ${text}`;
    });
    const now = this.rows[this.rows.length - 1];
    this.when.textContent = this.selected === null || !row ? '' : `${duration(now[0] - row[0])} ago:`;
    this.plot.setAttribute('aria-label', `${this.title}, a chart of the last ${MINUTES_SHOWN} minutes. Now: ${words.join(', ')}.`);
  }

  select(row, isByKey) {
    this.selected = row;
    this.output.setAttribute('aria-live', isByKey ? 'polite' : 'off');
    this.tell();
  }

  walk(event) {
    const steps = {ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30, Home: -Infinity, End: Infinity};
    if (event.key === 'Escape') {
      this.graph.clearSelection();
      this.select(null, true);
    } else if (event.key in steps && this.rows.length > 0) {
      const last = this.rows.length - 1;
      const row = Math.min(last, Math.max(0, (this.selected ?? last) + steps[event.key]));
      this.graph.setSelection(row);
      this.select(row, true);
      event.preventDefault();
    }
  }
}
