/* The page: what mouse, keys and the address do. One state; every change of it asks for one new
 * picture. */

class Page {
    constructor(data) {
        this.model = new Model(data);
        this.view = new View(this.model);
        this.state = {
            call: null,
            wait: null,
            hit: null,
            pointer: null,
            range: null,
            isCritical: false,
            found: []
        };
        this.canvas = document.getElementById('overlay');
        this.findBox = document.getElementById('find');
        this.painter = new Painter(this.view, document.getElementById('base'), this.canvas);
        this.panel = new Panel(this.model, this.painter, {
            selectCall: call => this.selectCall(call, true),
            find: text => this.setFind(this.findBox.value = text),
        });
        this.drag = null;
        this.isAsked = {base: false, overlay: false};
        this.panel.showHeader();
        this.listenToMouse();
        this.listenToKeys();
        this.listenToTools();
        new ResizeObserver(() => this.resize()).observe(document.getElementById('chart'));
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.restyle());
        addEventListener('hashchange', () => this.readHash());
        this.painter.resize();
        this.panel.show(this.state);
        this.readHash();
        this.draw();
    }

    /* ---- pictures */

    ask(what) {
        if (!this.isAsked.base && !this.isAsked.overlay)
            requestAnimationFrame(() => this.draw(this.isAsked));
        this.isAsked[what] = true;
    }

    draw(asked = {base: true}) {
        if (asked.base) this.painter.paint(this.state);
        this.painter.paintOverlay(this.state);
        this.isAsked = {base: false, overlay: false};
    }

    changed() {
        this.ask('base');
        clearTimeout(this.hashTimer);
        this.hashTimer = setTimeout(() => this.writeHash(), 250);
    }

    resize() {
        this.painter.resize();
        this.draw();
    }

    restyle() {
        this.painter.restyle();
        this.panel.show(this.state);
        this.draw();
    }

    /* ---- the address: #t=FROM,TO&call=SEQUENCE&wait=INDEX&find=TEXT&critical */

    writeHash() {
        const {state, view} = this, parts = [`t=${Math.round(view.from)},${Math.round(view.to)}`];
        if (state.call) parts.push(`call=${state.call.sequence}`);
        if (state.wait) parts.push(`wait=${state.wait.index}`);
        if (state.isCritical) parts.push('critical');
        if (this.findBox.value) parts.push(`find=${encodeURIComponent(this.findBox.value)}`);
        history.replaceState(null, '', `#${parts.join('&')}`);
    }

    readHash() {
        const values = new URLSearchParams(location.hash.slice(1));
        const [from, to] = (values.get('t') ?? '').split(',').map(Number);
        if (from < to) this.view.show(from, to);
        this.select(
            this.model.callOf(Number(values.get('call') ?? NaN)) ?? null,
            this.model.waits[values.get('wait') ?? -1] ?? null);
        this.findBox.value = values.get('find') ?? '';
        this.setFind(this.findBox.value);
        if (values.has('critical')) this.setCritical(true);
    }

    /* ---- what is selected and marked */

    select(call, wait) {
        Object.assign(this.state, {call, wait});
        this.panel.show(this.state);
        this.changed();
    }

    /* isRevealed: the view moves to where it can be seen. */
    selectCall(call, isRevealed) {
        const [slice] = call.slices;
        if (isRevealed && slice) {
            const {view} = this, span = view.to - view.from;
            if (slice.end - slice.start > span || (slice.end - slice.start) / view.nsPerPixel < 3)
                view.showEvent(slice);
            else if (slice.start < view.from || slice.end > view.to)
                view.show(
                    (slice.start + slice.end - span) / 2, (slice.start + slice.end + span) / 2);
            view.reveal(slice.lane);
        }
        this.select(call, null);
    }

    /* The search and the critical path take turns in marking calls. */
    markCalls(calls) {
        const marks = calls && new Uint8Array(this.model.calls.length);
        for (const call of calls ?? []) marks[call.index] = 1;
        this.model.mark(marks);
        this.changed();
    }

    setCritical(isOn) {
        if (isOn && this.findBox.value) this.setFind(this.findBox.value = '');
        this.state.isCritical = isOn;
        document.getElementById('critical').setAttribute('aria-pressed', isOn);
        const {calls, length} = this.model.critical;
        document.getElementById('found').textContent =
            isOn ? `${counted(calls.length, 'call')}, ${duration(length)}, ${
                       percent(length, this.model.duration)} of the time` :
                   '';
        this.panel.show(this.state);
        this.markCalls(isOn ? calls : null);
    }

    setFind(text) {
        const found = this.state.found = this.model.find(text);
        if (text.trim() || !this.state.isCritical) {
            this.setCritical(false);
            this.markCalls(text.trim() ? found : null);
        }
        document.getElementById('previous').disabled = document.getElementById('next').disabled =
            !found.length;
        if (text.trim())
            document.getElementById('found').textContent =
                found.length ?
                    `${counted(found.length, 'call')}, ${
                        duration(found.reduce((sum, call) => sum + call.end - call.start, 0))}` :
                    'no match';
    }

    /* The match after the selected call, or before it. */
    stepFound(direction) {
        const {found, call} = this.state, at = call ? call.index : -1;
        if (!found.length) return;
        let i = firstWhere(0, found.length, j => found[j].index >= at);
        if (direction > 0)
            i += found[i]?.index === at;
        else
            i += found.length - 1;
        this.selectCall(found[i % found.length], true);
    }

    /* The neighbour of the selected slice in its lane. */
    stepInLane(direction) {
        const slice = this.state.call?.slices[0];
        if (!slice) return;
        const level = slice.lane.levels[slice.depth];
        const next = level.slices[level.slices.indexOf(slice) + direction];
        if (next) this.selectCall(next.call, true);
    }

    /* ---- mouse */

    listenToMouse() {
        const {canvas} = this;
        canvas.addEventListener('mousedown', event => this.press(event));
        addEventListener('mousemove', event => this.move(event));
        addEventListener('mouseup', event => this.release(event));
        canvas.addEventListener('mouseleave', () => this.point(null));
        canvas.addEventListener('dblclick', event => {
            if (!this.view.hit(this.at(event).x, this.at(event).y)?.group) this.view.fit();
            this.changed();
        });
        canvas.addEventListener('wheel', event => this.wheel(event), {passive: false});
    }

    at(event) {
        const box = this.canvas.getBoundingClientRect();
        return {x: event.clientX - box.left, y: event.clientY - box.top};
    }

    press(event) {
        if (event.button !== 0) return;
        const {x, y} = this.at(event);
        const kind = y < OVERVIEW && x > GUTTER   ? 'overview' :
                     event.shiftKey && x > GUTTER ? 'range' :
                                                    'pan';
        this.drag = {kind, x, y, startX: x, hasMoved: kind === 'overview'};
        if (kind === 'overview') this.moveOverview(x);
    }

    moveOverview(x) {
        const {view, model} = this, half = (view.to - view.from) / 2;
        const middle = (x - GUTTER) / (view.width - GUTTER) * model.end;
        view.show(middle - half, middle + half);
        this.changed();
    }

    move(event) {
        const {drag, view, state} = this, {x, y} = this.at(event);
        if (!drag) {
            if (event.target === this.canvas) this.point({x, y});
            return;
        }
        drag.hasMoved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 3;
        if (!drag.hasMoved) return;
        this.canvas.classList.add('moving');
        if (drag.kind === 'overview')
            this.moveOverview(x);
        else if (drag.kind === 'range')
            state.range =
                [Math.max(GUTTER, drag.startX), Math.min(view.width, Math.max(GUTTER, x))];
        else {
            view.pan(drag.x - x);
            view.scrollBy(drag.y - y);
            Object.assign(drag, {x, y});
            this.changed();
        }
        this.point({x, y});
    }

    release(event) {
        const {drag, state, view} = this;
        this.drag = null;
        this.canvas.classList.remove('moving');
        if (!drag) return;
        if (state.range) {
            const [a, b] = state.range.map(x => view.time(x)).sort((p, q) => p - q);
            state.range = null;
            view.show(a, b);
            this.changed();
        } else if (!drag.hasMoved) {
            this.click(this.at(event));
        }
    }

    click({x, y}) {
        const hit = this.view.hit(x, y);
        if (hit?.group) {
            this.view.fold(hit.group);
            this.changed();
        } else if (hit?.slice)
            this.selectCall(hit.slice.call, false);
        else if (hit?.wait)
            this.select(null, hit.wait);
        else if (y > TOP)
            this.select(null, null);
    }

    wheel(event) {
        const {view} = this, {x} = this.at(event);
        const unit = event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1;
        const isPinch = event.ctrlKey && Math.abs(event.deltaY) < 50; // as browsers tell of it
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
            view.pan((event.deltaX || event.deltaY) * unit);
        else if (x < GUTTER && !event.ctrlKey)
            view.scrollBy(event.deltaY * unit);
        else
            view.zoom(Math.exp(-event.deltaY * unit * (isPinch ? 0.01 : 0.002)), x);
        this.changed();
    }

    point(pointer) {
        const hit = pointer && !this.drag ? this.view.hit(pointer.x, pointer.y) : null;
        Object.assign(this.state, {pointer, hit});
        this.canvas.classList.toggle('over', !!hit && !hit.counter);
        this.panel.showTip(hit, pointer, this.view);
        this.ask('overlay');
    }

    /* ---- keys and tools */

    listenToKeys() {
        const {view} = this, step = 80;
        const keys = {
            w: () => view.zoom(1.4, this.state.pointer?.x),
            s: () => view.zoom(1 / 1.4, this.state.pointer?.x),
            '+': () => view.zoom(1.4),
            '=': () => view.zoom(1.4),
            '-': () => view.zoom(1 / 1.4),
            a: () => view.pan(-step),
            d: () => view.pan(step),
            arrowup: () => view.scrollBy(-step / 2),
            arrowdown: () => view.scrollBy(step / 2),
            pageup: () => view.scrollBy(-view.height / 2),
            pagedown: () => view.scrollBy(view.height / 2),
            arrowleft: () => this.stepInLane(-1),
            arrowright: () => this.stepInLane(1),
            0: () => view.fit(),
            f: () => this.showSelected(),
            c: () => this.setCritical(!this.state.isCritical),
            '/': () => this.findBox.focus(),
            '?': () => this.showHelp(),
            escape: () => this.forget(),
        };
        addEventListener('keydown', event => {
            const action = keys[event.key.toLowerCase()], {target} = event;
            const isScroll = /^(arrow|page)/i.test(event.key) && target !== this.canvas &&
                             target !== document.body;
            if (!action || event.ctrlKey || event.metaKey || event.altKey || isScroll) return;
            if (target instanceof HTMLInputElement || document.getElementById('keys').open) return;
            event.preventDefault();
            action();
            this.changed();
        });
    }

    showSelected() {
        const {call, wait} = this.state, event = wait ?? call?.slices[0];
        if (!event) return;
        this.view.showEvent(event);
        this.view.reveal(event.lane);
    }

    forget() {
        this.setFind(this.findBox.value = '');
        this.setCritical(false);
        this.select(null, null);
    }

    showHelp() { document.getElementById('keys').showModal(); }

    listenToTools() {
        const on = (id, action) => document.getElementById(id).addEventListener('click', () => {
            action();
            this.changed();
        });
        on('critical', () => this.setCritical(!this.state.isCritical));
        on('fit', () => this.view.fit());
        on('in', () => this.view.zoom(1.6));
        on('out', () => this.view.zoom(1 / 1.6));
        on('next', () => this.stepFound(1));
        on('previous', () => this.stepFound(-1));
        on('help', () => this.showHelp());
        this.findBox.addEventListener('input', () => this.setFind(this.findBox.value));
        this.findBox.addEventListener('keydown', event => {
            if (event.key === 'Enter') this.stepFound(event.shiftKey ? -1 : 1);
            if (event.key === 'Escape') {
                this.forget();
                this.canvas.focus();
            }
        });
    }
}
