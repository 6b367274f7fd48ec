/* Starts the page. With #selfcheck as the address it then uses itself as a reader would, by events,
 * and writes what came of it into the document, a line each, for tests/html/run. */

const faults = [];  // errors of scripts, and whatever the security policy kept from loading
addEventListener('error', event => faults.push(event.message));
addEventListener('unhandledrejection', event => faults.push(String(event.reason)));
addEventListener(
    'securitypolicyviolation',
    event => faults.push(`${event.violatedDirective} ${event.blockedURI}`));

function selfCheck(page) {
    const lines = [], {canvas, view, painter, model, state} = page;
    const say = (name, value) => lines.push(`${name}: ${value}`);
    const send = (target, event) => {
        target.dispatchEvent(event);
        page.draw();
    };
    const mouse = (type, x, y, more) => {
        const box = canvas.getBoundingClientRect();
        send(
            canvas,
            new MouseEvent(
                type, {clientX: box.left + x, clientY: box.top + y, bubbles: true, ...more}));
    };
    const click = (x, y) => ['mousedown', 'mouseup'].forEach(type => mouse(type, x, y));
    const key = name => send(document, new KeyboardEvent('keydown', {key: name, bubbles: true}));
    const span = () => Math.round(view.to - view.from);
    const text = id => document.getElementById(id).innerText.replace(/\s+/g, ' ').trim();
    const tip = slice => {
        mouse('mousemove', (view.x(slice.start) + view.x(slice.end)) / 2, painter.middle(slice));
        return text('tip');
    };
    const begin = performance.now();

    say('title', document.title);
    say('facts', text('facts'));
    say('queues', text('queues'));
    say('lost', text('lost') || 'nothing');
    view.scroll = 0;
    view.height = TOP + view.rowsHeight;  // so that all rows are drawn
    page.draw();
    const {lanes, slices, waits, counters, groups} = painter.drawn;
    say('drawn',
        `${groups} groups, ${lanes} lanes, ${slices} slices, ${waits} waits, ${counters} counters`);
    painter.resize();

    const all = model.calls.filter(call => call.slices.length);
    const most =
        all.reduce((a, b) => !a || b.dependencies.length > a.dependencies.length ? b : a, null);
    const wait = model.waits.find(each => each.end > each.start);
    if (most) {
        page.selectCall(most, true);  // so that it is visible
        key('Escape');
        say('tip', tip(most.slices[0]));
        click(
            view.x((most.slices[0].start + most.slices[0].end) / 2),
            painter.middle(most.slices[0]));
        say('selected', `${state.call?.operation} #${state.call?.sequence}`);
        say('arrows',
            `${painter.arrows} for ${most.dependencies.length} + ${most.dependents.length}`);
        say('links', document.querySelectorAll('#panel .link').length);
        document.querySelector('#panel .link').click();
        say('followed', `${state.call?.operation} #${state.call?.sequence}`);
    }
    if (wait) {
        view.showEvent(wait);
        mouse(
            'mousemove', view.x(wait.start) + 2, view.rowTop(view.rowOfLane[wait.lane.index]) + 3);
        say('tip of a wait', text('tip'));
    }
    mouse('dblclick', GUTTER + 300, TOP + GROUP_HEIGHT + 10);
    const whole = span();
    send(
        canvas,
        new WheelEvent('wheel', {deltaY: -200, clientX: 700, clientY: 400, cancelable: true}));
    say('zoom by wheel', span() < whole);
    key('0');
    const fitted = span();
    key('w');
    say('zoom by key', fitted === whole && span() < whole);
    const from = view.from;
    key('d');
    say('move by key', view.from > from);
    mouse('mousedown', GUTTER + 400, TOP + 40);
    mouse('mousemove', GUTTER + 300, TOP + 40);
    const moved = view.from;
    mouse('mouseup', GUTTER + 300, TOP + 40);
    say('move by drag', moved > from);
    key('0');
    const ends = [view.time(GUTTER + 100), view.time(GUTTER + 200)].map(Math.round);
    mouse('mousedown', GUTTER + 100, TOP + 40, {shiftKey: true});
    mouse('mousemove', GUTTER + 200, TOP + 40, {shiftKey: true});
    mouse('mouseup', GUTTER + 200, TOP + 40);
    say('zoom by shift+drag', Math.abs(view.from - ends[0]) < 2 && Math.abs(view.to - ends[1]) < 2);
    page.writeHash();
    const hash = location.hash;
    key('0');
    history.replaceState(null, '', hash);
    page.readHash();
    say('range from the address',
        Math.abs(view.from - ends[0]) < 2 && Math.abs(view.to - ends[1]) < 2);
    key('0');

    page.findBox.value = all[0]?.operation ?? '';
    send(page.findBox, new Event('input'));
    say('found', text('found'));
    send(page.findBox, new KeyboardEvent('keydown', {key: 'Enter'}));
    say('next match', `${state.call?.operation} #${state.call?.sequence}`);
    key('c');
    say('critical path', text('found'));
    key('Escape');
    key('0');
    click(20, TOP + 10);
    say('groups after a fold', `${view.rows.length} rows, ${[...view.folded].join()} folded`);
    click(20, TOP + 10);

    const frames = 10, before = performance.now();
    for (let i = 0; i < frames; i++) page.draw();
    const after = performance.now();
    say('requests', performance.getEntriesByType('resource').length);
    say('faults', faults.join('; ') || 'none');
    say('milliseconds', `${((after - before) / frames).toFixed(1)} a picture, ${
                            (after - begin).toFixed(0)} for all of this`);
    document.body.append(make('pre', {id: 'selfcheck', hidden: true}, lines.join('\n')));
}

{
    const isSelfCheck = location.hash === '#selfcheck';
    const page = new Page(JSON.parse(document.getElementById('data').textContent));
    if (isSelfCheck) selfCheck(page);
}
