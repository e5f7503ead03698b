'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const NS = 'http://www.w3.org/2000/svg';
  const el = (name, attributes, text) => {
    const node = document.createElementNS(NS, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const short = v => v === null || !isFinite(v) ? '–' : +v.toPrecision(4) + '';

  // A small box beside the pointer; its content is always text.
  const tipOf = figure => {
    let tip = figure.querySelector('.tip');
    if (!tip) {
      tip = document.createElement('div');
      tip.className = 'tip';
      tip.hidden = true;
      figure.appendChild(tip);
    }
    return {
      show(text, x, y) {
        tip.textContent = text;
        tip.hidden = false;
        const box = figure.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(x - box.left + 14, box.width - tip.offsetWidth - 4)) + 'px';
        tip.style.top = Math.max(4, y - box.top - tip.offsetHeight - 10) + 'px';
      },
      hide() { tip.hidden = true; }
    };
  };
  const toSvg = (svg, event) => {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    return [(event.clientX - box.left) / box.width * view.width + view.x,
            (event.clientY - box.top) / box.height * view.height + view.y];
  };

  const ticksOf = (low, high, log, whole) => {
    const out = [];
    if (log) {
      const a = Math.pow(10, low), b = Math.pow(10, high);
      for (let e = Math.floor(low); e <= Math.ceil(high); ++e)
        for (const m of high - low > 3 ? [1] : [1, 2, 5]) {
          const v = m * Math.pow(10, e);
          if (v >= a && v <= b) out.push(v);
        }
      if (out.length >= 3) return out;
      out.length = 0;
      return ticksOf(a, b, false, false);
    }
    const raw = (high - low) / 5, unit = Math.pow(10, Math.floor(Math.log10(raw))), share = raw / unit;
    let step = share <= 1 ? unit : share <= 2 ? 2 * unit : share <= 5 ? 5 * unit : 10 * unit;
    if (whole) step = Math.max(1, Math.round(step));
    for (let i = Math.ceil(low / step); i * step <= high; ++i) out.push(+(i * step).toPrecision(12));
    return out;
  };

  // Charts: values under the pointer, drag to zoom along x, double click or Escape to go back.
  const chart = svg => {
    const data = JSON.parse(svg.dataset.chart), figure = svg.closest('figure'), tip = tipOf(figure);
    const [left, top, right, bottom] = data.box, [y0, y1] = data.y;
    let [x0, x1] = data.x;
    const sx = v => data.log[0] ? Math.log10(v) : v, sy = v => data.log[1] ? Math.log10(v) : v;
    const px = v => left + (sx(v) - x0) / (x1 - x0) * (right - left);
    const py = v => bottom - (sy(v) - y0) / (y1 - y0) * (bottom - top);
    const clip = 'clip' + Math.random().toString(36).slice(2);
    const holder = el('clipPath', {id: clip});
    holder.appendChild(el('rect', {x: left - 5, y: top - 5, width: right - left + 10, height: bottom - top + 10}));
    svg.appendChild(holder);
    const lines = [...svg.querySelectorAll('polyline')], marks = [...svg.querySelectorAll('circle[data-i]')];
    const labels = [...svg.querySelectorAll('text[data-s],line[data-s]')];
    for (const item of lines.concat(marks)) item.setAttribute('clip-path', `url(#${clip})`);
    const bySeries = c => data.series.findIndex(s => s.c == c);
    const shown = s => s.x.map((x, i) => [x, s.y[i]]).filter(p => p[0] !== null && p[1] !== null && (!data.log[0] || p[0] > 0) && (!data.log[1] || p[1] > 0));
    const lineSeries = data.series.filter(s => s.line);
    const redraw = () => {
      lines.forEach((line, k) => {
        const s = lineSeries[k];
        if (s) line.setAttribute('points', shown(s).map(p => px(p[0]).toFixed(1) + ',' + py(p[1]).toFixed(1)).join(' '));
      });
      for (const mark of marks) {
        const s = data.series[+mark.dataset.k], i = +mark.dataset.i;
        mark.setAttribute('cx', px(s.x[i]));
      }
      const full = x0 === data.x[0] && x1 === data.x[1];
      for (const label of labels) if (label.dataset.i !== undefined) label.classList.toggle('off', !full);
      for (const old of svg.querySelectorAll('.xt')) old.remove();
      const first = svg.firstChild;
      for (const v of ticksOf(x0, x1, data.log[0], data.whole)) {
        const at = px(v);
        svg.insertBefore(el('line', {x1: at, x2: at, y1: top, y2: bottom, class: 'i-grid st xt'}), first);
        svg.appendChild(el('text', {x: at, y: bottom + 18, 'font-size': 12, 'text-anchor': 'middle', class: 'i-muted fi xt'}, v.toLocaleString('en')));
      }
    };
    const zoom = (a, b) => { x0 = a; x1 = b; redraw(); back.hidden = x0 === data.x[0] && x1 === data.x[1]; };
    const back = document.createElement('button');
    back.type = 'button';
    back.className = 'tool';
    back.textContent = 'Whole range';
    back.hidden = true;
    back.onclick = () => zoom(data.x[0], data.x[1]);
    figure.appendChild(back);
    const cross = el('line', {class: 'cross off', y1: top, y2: bottom}), band = el('rect', {class: 'band off', y: top, height: bottom - top});
    svg.append(band, cross);
    let from = null;
    const inside = x => x >= left && x <= right;
    const look = (x, event) => {
      const at = x0 + (x - left) / (right - left) * (x1 - x0), rows = [];
      let nearest = null;
      for (const s of data.series) for (const p of shown(s)) {
        const d = Math.abs(sx(p[0]) - at);
        if (nearest === null || d < nearest[0]) nearest = [d, p[0]];
      }
      if (!nearest) return;
      for (const s of data.series) {
        const hits = shown(s).filter(p => p[0] === nearest[1]);
        for (const p of hits) rows.push(s.name + ': ' + short(p[1]));
      }
      const line = px(nearest[1]);
      cross.setAttribute('x1', line);
      cross.setAttribute('x2', line);
      cross.classList.remove('off');
      tip.show(data.labels[0] + ' ' + short(nearest[1]) + '\n' + rows.slice(0, 14).join('\n'), event.clientX, event.clientY);
    };
    svg.addEventListener('pointermove', event => {
      const [x] = toSvg(svg, event);
      if (from !== null) {
        const a = Math.max(left, Math.min(from, x)), b = Math.min(right, Math.max(from, x));
        band.setAttribute('x', a);
        band.setAttribute('width', Math.max(0, b - a));
        band.classList.remove('off');
      } else if (inside(x)) look(x, event);
    });
    svg.addEventListener('pointerleave', () => { tip.hide(); cross.classList.add('off'); });
    svg.addEventListener('pointerdown', event => {
      const [x] = toSvg(svg, event);
      if (event.button === 0 && event.pointerType === 'mouse' && inside(x)) { from = x; svg.setPointerCapture(event.pointerId); }
    });
    svg.addEventListener('pointerup', event => {
      const [x] = toSvg(svg, event);
      if (from !== null && Math.abs(x - from) > 8) {
        const at = v => x0 + (Math.max(left, Math.min(right, v)) - left) / (right - left) * (x1 - x0);
        zoom(at(Math.min(from, x)), at(Math.max(from, x)));
      }
      from = null;
      band.classList.add('off');
    });
    svg.addEventListener('dblclick', () => zoom(data.x[0], data.x[1]));
    // Arrow keys walk along x.
    svg.tabIndex = 0;
    let cursor = null;
    svg.addEventListener('keydown', event => {
      if (event.key === 'Escape') { zoom(data.x[0], data.x[1]); tip.hide(); return; }
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      const xs = [...new Set(data.series.flatMap(s => shown(s).map(p => p[0])))].sort((a, b) => a - b);
      const i = cursor === null ? 0 : Math.max(0, Math.min(xs.length - 1, xs.indexOf(cursor) + (event.key === 'ArrowRight' ? 1 : -1)));
      cursor = xs[i];
      const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      look(px(cursor), {clientX: box.left + px(cursor) * scale, clientY: box.top + box.height / 2});
      event.preventDefault();
    });
    svg.addEventListener('blur', () => { tip.hide(); cross.classList.add('off'); });
  };

  // The map: choose a class, zoom with buttons or the wheel while Control is held, drag to move.
  const map = svg => {
    const figure = svg.closest('figure'), tip = tipOf(figure), view = svg.viewBox.baseVal, whole = [view.x, view.y, view.width, view.height];
    const data = JSON.parse(document.getElementById(svg.dataset.points).textContent);
    const dots = [...svg.querySelectorAll('.dot')], select = figure.querySelector('select');
    const only = figure.querySelector('input[type=checkbox]');
    const choose = () => dots.forEach((dot, i) => {
      const wanted = select.value === '' || data.t[i] === +select.value || data.p[i] === +select.value;
      dot.classList.toggle('off', !wanted || (only.checked && data.t[i] === data.p[i]));
    });
    select.onchange = choose;
    only.onchange = choose;
    const set = v => svg.setAttribute('viewBox', v.map(x => x.toFixed(2)).join(' '));
    const scaleAt = (factor, x, y) => {
      const w = Math.min(whole[2], view.width * factor), h = w * whole[3] / whole[2];
      set([x - (x - view.x) * w / view.width, y - (y - view.y) * h / view.height, w, h]);
      const r = Math.max(.8, 3 * Math.sqrt(w / whole[2]));
      for (const dot of dots) dot.setAttribute('r', r.toFixed(2));
    };
    const middle = () => [view.x + view.width / 2, view.y + view.height / 2];
    figure.querySelector('[data-do=in]').onclick = () => scaleAt(.7, ...middle());
    figure.querySelector('[data-do=out]').onclick = () => scaleAt(1.4, ...middle());
    figure.querySelector('[data-do=all]').onclick = () => { set(whole); for (const dot of dots) dot.setAttribute('r', 3); };
    svg.addEventListener('wheel', event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      scaleAt(event.deltaY > 0 ? 1.15 : .87, ...toSvg(svg, event));
    }, {passive: false});
    let grip = null;
    svg.addEventListener('pointerdown', event => { if (event.pointerType === 'mouse' && event.button === 0) { grip = toSvg(svg, event); svg.setPointerCapture(event.pointerId); } });
    svg.addEventListener('pointerup', () => { grip = null; });
    svg.addEventListener('pointermove', event => {
      const [x, y] = toSvg(svg, event);
      if (grip) { set([view.x + grip[0] - x, view.y + grip[1] - y, view.width, view.height]); return; }
      let best = -1, near = Math.pow(view.width / 60, 2);
      dots.forEach((dot, i) => {
        if (dot.classList.contains('off')) return;
        const d = Math.pow(data.x[i] - x, 2) + Math.pow(data.y[i] - y, 2);
        if (d < near) { near = d; best = i; }
      });
      if (best < 0) { tip.hide(); return; }
      const name = k => k < 0 ? 'unknown' : data.names[k] === undefined ? k : data.names[k];
      tip.show('node ' + data.n[best] + '\ntruth: ' + name(data.t[best]) + '\nmodel: ' + name(data.p[best]), event.clientX, event.clientY);
    });
    svg.addEventListener('pointerleave', () => tip.hide());
  };

  // Tables: a click on a column's name sorts by it.
  const sortable = table => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.textContent = head.textContent;
      head.textContent = '';
      head.appendChild(button);
      button.onclick = () => {
        const up = head.getAttribute('aria-sort') !== 'ascending';
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        const value = row => {
          const cell = row.cells[column], text = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent;
          const number = parseFloat(text.replace(/,/g, ''));
          return isNaN(number) ? text.toLowerCase() : number;
        };
        const rows = [...table.tBodies[0].rows].map(row => [value(row), row]);
        const order = (a, b) => typeof a[0] !== typeof b[0] ? (typeof a[0] === 'number' ? -1 : 1) : a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
        rows.sort((a, b) => up ? order(a, b) : order(b, a));
        for (const [, row] of rows) table.tBodies[0].appendChild(row);
      };
    });
  };

  // Tables wider than the page say so, until they are scrolled to their end, and take the keyboard's focus.
  const watchWidth = box => {
    const scroll = box.querySelector('.scroll');
    const look = () => {
      const over = scroll.scrollWidth > scroll.clientWidth + 1;
      box.classList.toggle('over', over);
      box.classList.toggle('end', scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 2);
      if (over) { scroll.tabIndex = 0; scroll.setAttribute('role', 'region'); } else { scroll.removeAttribute('tabindex'); scroll.removeAttribute('role'); }
    };
    scroll.addEventListener('scroll', look, {passive: true});
    new ResizeObserver(look).observe(scroll);
    look();
  };

  // A link to a part that is folded up opens it; a print shows all parts.
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const part = target && target.closest('details.part');
    if (part) { part.open = true; target.scrollIntoView(); }
  };
  addEventListener('hashchange', openTarget);
  addEventListener('beforeprint', () => { for (const part of document.querySelectorAll('details.part:not([open]),details.fold:not([open])')) { part.open = true; part.dataset.folded = ''; } });
  addEventListener('afterprint', () => { for (const part of document.querySelectorAll('details[data-folded]')) { part.open = false; delete part.dataset.folded; } });

  const begin = part => {
    for (const svg of part.querySelectorAll('svg.chart')) chart(svg);
    for (const svg of part.querySelectorAll('svg.map')) map(svg);
    for (const table of part.querySelectorAll('table.sort')) sortable(table);
    for (const box of part.querySelectorAll('.table')) watchWidth(box);
  };
  begin(document);
  openTarget();

  // Served live: the body is fetched again when the run has gone on.
  const live = document.querySelector('main[data-live]');
  if (live) {
    let version = live.dataset.live;
    const again = async () => {
      try {
        const answer = await fetch('version', {cache: 'no-store'});
        const now = await answer.text();
        if (answer.ok && now !== version) {
          const page = await (await fetch('.', {cache: 'no-store'})).text();
          const fresh = new DOMParser().parseFromString(page, 'text/html').querySelector('main');
          if (fresh) {
            version = fresh.dataset.live === undefined ? null : fresh.dataset.live;
            live.replaceChildren(...fresh.childNodes);
            begin(live);
          }
        }
      } catch (error) { /* the server went away: keep what is shown */ }
      if (version !== null) setTimeout(again, 1000);
    };
    setTimeout(again, 1000);
  }
})();
