/* What is said in words: the header, the tip under the pointer, and the panel. Texts of the trace
 * only ever become text nodes. */

const MOST_LINKS = 200, MOST_OPERATIONS = 100;

/* An element with properties and children: texts, elements, or nothing (null). */
function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children.filter(child => child !== null));
    return element;
}

function swatch(colour) {
    const box = make('i', {className: 'swatch'});
    box.style.background = colour;
    return box;
}

/* Triples of a name, a value and a class (may be left out), without those that have no value. */
function factList(facts) {
    const list = make('dl', {className: 'facts'});
    for (const [name, value, className] of facts)
        if (value)
            list.append(make('dt', {}, name), make('dd', {className: className ?? ''}, value));
    return list;
}

/* A moment, as exact as the length of the timeline asks for: "122.000 µs". */
function exact(ns, model) {
    return moment(ns, model.end < 1e6 ? 1 : model.end < 1e9 ? 10 : 1e3, model.end);
}

/* "130.00 µs: waited 12 µs for its inputs" */
function after(from, to, model) {
    return `${exact(to, model)}: waited ${duration(Math.max(0, to - from))}`;
}

function failureOf(call) {
    if (call.flags & SKIPPED) return 'skipped: an input had failed, its kernel never started';
    return call.flags & FAILED ? 'failed' : '';
}

function callFacts(call, model) {
    const {queue, wallStart, wallEnd} = call, ran = call.end - call.start;
    const kinds = [];
    if (call.flags & BACKWARD) kinds.push('backward pass');
    if (call.flags & COLLECTIVE) kinds.push('sum over devices');
    const rate = ran > 0 && call.bytes > 0 ? `, ${bytes(call.bytes / ran * 1e9)}/s` : '';
    const wall = `${exact(wallStart, model)} to ${exact(wallEnd, model)}: ` +
        `ran ${duration(wallEnd - wallStart)}`;
    return [
        ['', failureOf(call), 'bad'],
        ['', call.flags & SUBNORMAL ? 'met subnormal numbers, which may take a hundred times as long' : '', 'bad'],
        ['shapes', call.shapes],
        ['where', `${queue.device}, ${queue.name}${queue.simulated ? ' (simulated)' : ''}`],
        ['part of', kinds.join(', ')],
        ['source', source(call)],
        ['issued', exact(call.issue, model)],
        ['ready', `${after(call.issue, call.ready, model)} for its inputs`],
        ['began', `${after(call.ready, call.start, model)} for its turn`],
        ['ended', `${exact(call.end, model)}: ran ${duration(ran)}` +
            (queue.simulated ? ' by the model' : '')],
        ['wall clock', queue.simulated && wall],
        ['bytes', `${bytes(call.bytes)} read and written${rate}`],
    ];
}

function waitFacts(wait, model) {
    const {lastCall} = wait;
    return [
        ['where', `${wait.lane.process}, ${wait.lane.name}`],
        ['source', source(wait)],
        ['from', exact(wait.start, model)],
        ['to', `${exact(wait.end, model)}: ${duration(wait.end - wait.start)}`],
        ['ended by', lastCall && `${lastCall.operation} #${lastCall.sequence}`],
    ];
}

function pieceFact({piece, start, end}, model) {
    const when = `${exact(start, model)} to ${exact(end, model)}, ${duration(end - start)}`;
    return ['this piece', piece >= 0 && `${piece}: ${when}`];
}

function waitName(wait) { return `waits ${WAITS[wait.kind] ?? ''} ${wait.device}`.trim(); }

class Panel {
    constructor(model, painter, actions) {
        this.model = model;
        this.painter = painter;
        this.actions = actions; // selectCall(call), find(text)
        this.element = document.getElementById('panel');
        this.tip = document.getElementById('tip');
    }

    /* ---- the header, once */

    showHeader() {
        const {model} = this;
        document.title = document.getElementById('title').textContent = model.title;
        document.getElementById('facts').append(...this.headerFacts());
        const queues = model.queues.filter(queue => queue.calls);
        document.getElementById('queues').append(...queues.map(queue => this.queueMeter(queue)));
        const lost = document.getElementById('lost');
        lost.hidden = !model.lost;
        if (model.lost)
            lost.textContent = `${grouped(model.lost)} records were lost, for the trace's memory ` +
                `(${bytes(model.limit)}) was used up: this picture is incomplete. ` +
                'More memory: hk_trace_options.memory_bytes.';
    }

    headerFacts() {
        const {calls, waits, critical, sums, duration: whole} = this.model;
        const failed = calls.filter(call => call.flags & FAILED).length;
        const waited = waits.reduce((sum, wait) => sum + wait.end - wait.start, 0);
        const facts = [
            [duration(whole), 'long'],
            [grouped(calls.length), calls.length === 1 ? 'call' : 'calls'],
            [failed && grouped(failed), 'failed'],
            [duration(critical.length), `critical path, ${percent(critical.length, whole)}`],
            [duration(waited), 'threads waited'],
            [sums.time && percent(sums.hidden, sums.time),
                `of the sums over devices (${duration(sums.time)}) ran beside the backward pass`],
        ];
        return facts.filter(([value]) => value)
            .map(([value, text]) => make('span', {}, make('b', {}, value), ` ${text}`));
    }

    queueMeter(queue) {
        const whole = this.model.duration;
        const title = `busy ${duration(queue.busy)}, ${counted(queue.calls, 'call')}`;
        return make('span', {className: 'queue', title}, `${queue.device} ${queue.name}`,
            make('meter', {max: Math.max(1, whole), value: queue.busy}),
            make('b', {}, percent(queue.busy, whole)));
    }

    /* ---- the tip */

    showTip(hit, pointer, view) {
        const {tip, model} = this;
        tip.hidden = !hit || !!hit.group;
        if (tip.hidden) return;
        if (hit.slice) {
            const {call} = hit.slice;
            tip.replaceChildren(this.callHead(call),
                factList([...callFacts(call, model), pieceFact(hit.slice, model)]));
        } else if (hit.wait) {
            const head = make('h2', {}, waitName(hit.wait));
            tip.replaceChildren(head, factList(waitFacts(hit.wait, model)));
        } else {
            const {counter, index} = hit;
            tip.replaceChildren(make('h2', {}, `${counter.process} ${counter.name}`), factList([
                ['value', amount(counter.value[index], counter.unit)],
                ['since', exact(counter.time[index], model)],
            ]));
        }
        this.placeTip(pointer, view);
    }

    /* Right below the pointer; where there is no room, left of it, and higher. */
    placeTip(pointer, view) {
        const {style, offsetWidth: width, offsetHeight: height} = this.tip;
        const right = pointer.x + 16;
        const x = right + width > view.width ? pointer.x - width - 12 : right;
        const y = Math.min(pointer.y + 18, view.height - height - 4);
        style.left = `${Math.max(0, x)}px`;
        style.top = `${Math.max(0, y)}px`;
    }

    /* ---- the panel */

    show(state) {
        if (state.call) this.showCall(state.call);
        else if (state.wait) this.showWait(state.wait);
        else if (state.isCritical) this.showCritical();
        else this.showOperations();
        this.element.scrollTop = 0;
    }

    callHead(call) {
        return make('h2', {}, swatch(this.painter.colourOf(call)), call.operation,
            make('small', {}, `#${call.sequence}`));
    }

    link(call) {
        const ran = duration(call.end - call.start);
        const more = `#${call.sequence} · ${call.queue.device} · ${ran}`;
        return make('button', {className: 'link', onclick: () => this.actions.selectCall(call)},
            swatch(this.painter.colourOf(call)), make('span', {className: 'name'}, call.operation),
            make('span', {className: 'more'}, more));
    }

    links(title, calls) {
        const list = make('ul', {}), left = calls.length - MOST_LINKS;
        for (const call of calls.slice(0, MOST_LINKS)) list.append(make('li', {}, this.link(call)));
        if (left > 0) list.append(make('li', {className: 'none'}, `and ${grouped(left)} more`));
        const count = make('small', {}, calls.length ? grouped(calls.length) : 'none');
        return make('div', {}, make('h2', {}, title, count), list);
    }

    showColumns(...columns) {
        this.element.replaceChildren(make('div', {className: 'columns'}, ...columns));
    }

    showCall(call) {
        const facts = factList(callFacts(call, this.model));
        this.showColumns(make('div', {}, this.callHead(call), facts),
            this.links('Waits for', call.dependencies),
            this.links('Is waited for by', call.dependents));
    }

    showWait(wait) {
        const head = make('h2', {}, waitName(wait));
        this.showColumns(make('div', {}, head, factList(waitFacts(wait, this.model))),
            this.links('Ended by', wait.lastCall ? [wait.lastCall] : []));
    }

    showCritical() { this.showColumns(this.links('Critical path', this.model.critical.calls)); }

    showOperations() {
        const {operations} = this.model, left = operations.length - MOST_OPERATIONS;
        if (!operations.length) {
            const text = 'Nothing was called while this was recorded.';
            this.element.replaceChildren(make('p', {className: 'none'}, text));
            return;
        }
        const row = (tag, cells) => make('tr', {}, ...cells.map(cell => make(tag, {}, cell)));
        const names = ['operation', 'calls', 'time', '', 'share', 'mean', 'longest', 'bytes'];
        const body = make('tbody', {});
        for (const operation of operations.slice(0, MOST_OPERATIONS))
            body.append(row('td', this.operationCells(operation)));
        if (left > 0) body.append(row('td', [`and ${grouped(left)} more`]));
        this.element.replaceChildren(make('table', {}, make('thead', {}, row('th', names)), body));
    }

    operationCells({name, calls, time, longest, bytes: all, colour}) {
        const {operations} = this.model;
        const total = operations.reduce((sum, operation) => sum + operation.time, 0);
        const link = make('button', {
            className: 'link', title: 'Show where', onclick: () => this.actions.find(name),
        }, swatch(this.painter.colours[colour]), make('span', {className: 'name'}, name));
        const meter = make('meter', {max: Math.max(1, operations[0].time), value: time});
        return [link, grouped(calls), duration(time), meter, percent(time, total),
            duration(time / calls), duration(longest), bytes(all)];
    }
}
