(() => {
  'use strict';
  const COLOURS = 6, GAP = 15;
  const parts = run => document.querySelectorAll(`[data-run="${run}"]`);
  const colourOf = new Map();
  for (const chip of document.querySelectorAll('.chip.on')) {
    colourOf.set(chip.dataset.run, Number(chip.style.getPropertyValue('--c').match(/\d+/)[0]));
  }

  // Colour a scheduler everywhere, or turn it grey. A seventh takes the colour of the one chosen longest ago.
  function show(run, on) {
    if (on && colourOf.size >= COLOURS) show(colourOf.keys().next().value, false);
    if (on) {
      const taken = new Set(colourOf.values());
      colourOf.set(run, [...Array(COLOURS).keys()].find(c => !taken.has(c)));
    } else {
      colourOf.delete(run);
    }
    for (const part of parts(run)) {
      part.classList.toggle('on', on);
      if (on) part.style.setProperty('--c', `var(--c${colourOf.get(run)})`);
      else part.style.removeProperty('--c');
      if (part.matches('.run') && on) part.parentNode.append(part);
      if (part.matches('.chip')) part.setAttribute('aria-pressed', on);
    }
  }

  // Move the labels at the right of a chart apart.
  function layout(group) {
    const height = group.ownerSVGElement.viewBox.baseVal.height;
    const labels = [...group.querySelectorAll('.label.on')].map(g => ({ g, x: +g.dataset.x, y: +g.dataset.y, at: 0 }));
    labels.sort((a, b) => a.y - b.y);
    let next = 18;
    for (const l of labels) { l.at = Math.max(l.y, next); next = l.at + GAP; }
    let limit = height - 40;
    for (const l of labels.reverse()) { l.at = Math.min(l.at, limit); limit = l.at - GAP; }
    for (const { g, x, y, at } of labels) {
      const text = g.querySelector('text'), right = +text.getAttribute('x') - 11;
      text.setAttribute('y', at + 4);
      g.querySelector('path').setAttribute('d', `M${x} ${y}L${right + 2} ${at}H${right + 8}`);
    }
  }

  document.addEventListener('click', event => {
    const chip = event.target.closest('.chip');
    if (chip) {
      show(chip.dataset.run, !colourOf.has(chip.dataset.run));
      document.querySelectorAll('.ends').forEach(layout);
    }
    const head = event.target.closest('.sortable thead th');
    if (head) sort(head);
  });

  function hover(event, on) {
    const part = event.target.closest('[data-run]');
    if (part) for (const p of parts(part.dataset.run)) if (!p.matches('.seek')) p.classList.toggle('hover', on);
  }
  document.addEventListener('mouseover', event => hover(event, true));
  document.addEventListener('mouseout', event => hover(event, false));

  // Sort a table by a column; again, the other way round.
  function sort(head) {
    const table = head.closest('table'), body = table.tBodies[0], column = head.cellIndex;
    const up = head.getAttribute('aria-sort') !== 'ascending';
    for (const h of table.querySelectorAll('thead th')) h.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const key = row => row.cells[column].dataset.v === undefined ? row.cells[column].textContent : +row.cells[column].dataset.v;
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y))) * (up ? 1 : -1);
    });
    body.append(...rows);
  }
})();
