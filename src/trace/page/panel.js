/* What is said in words: the header, the tip under the pointer, and the panel. Texts of the trace only ever become
 * text nodes. */

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

/* Pairs of a name and a value, without those that have none. */
function factList(pairs) {
    return make('dl', {className: 'facts'}, ...pairs.filter(([, value]) => value).flatMap(([name, value, className]) =>
        [make('dt', {}, name), make('dd', {className: className ?? ''}, value)]));
}

/* Exact to a nanosecond's digits that matter: "122.000 µs". */
function exact(ns, model) { return moment(ns, model.end < 1e6 ? 1 : model.end < 1e9 ? 10 : 1e3, model.end); }

function callFacts(call, model) {
    const {queue} = call, ran = call.end - call.start, simulated = queue.simulated;
    const kinds = [call.flags & BACKWARD && 'backward pass', call.flags & COLLECTIVE && 'sum over devices'].filter(Boolean);
    const failure = call.flags & SKIPPED ? 'skipped: an input had failed, its kernel never started'
                    : call.flags & FAILED ? 'failed' : '';
    return [
        ['', failure, 'bad'],
        ['shapes', call.shapes],
        ['where', `${queue.device}, ${queue.name}${simulated ? ' (simulated)' : ''}`],
        ['part of', kinds.join(', ')],
        ['source', source(call)],
        ['issued', exact(call.issue, model)],
        ['ready', `${exact(call.ready, model)}: waited ${duration(Math.max(0, call.ready - call.issue))} for its inputs`],
        ['began', `${exact(call.start, model)}: waited ${duration(Math.max(0, call.start - call.ready))} for its turn`],
        ['ended', `${exact(call.end, model)}: ran ${duration(ran)}${simulated ? ' by the model' : ''}`],
        ['wall clock', simulated && `${exact(call.wallStart, model)} to ${exact(call.wallEnd, model)}: ` +
                                    `ran ${duration(call.wallEnd - call.wallStart)}`],
        ['bytes', `${bytes(call.bytes)} read and written` +
                  (ran > 0 && call.bytes > 0 ? `, ${bytes(call.bytes / ran * 1e9)}/s` : '')],
    ];
}

function waitFacts(wait, model) {
    return [
        ['where', `${wait.lane.process}, ${wait.lane.name}`],
        ['source', source(wait)],
        ['from', exact(wait.start, model)],
        ['to', `${exact(wait.end, model)}: ${duration(wait.end - wait.start)}`],
        ['ended by', wait.lastCall && `${wait.lastCall.operation} #${wait.lastCall.sequence}`],
    ];
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
        const {model} = this, {sums, critical} = model;
        const failed = model.calls.filter(call => call.flags & FAILED).length;
        const fact = (value, text) => make('span', {}, make('b', {}, value), ` ${text}`);
        document.title = document.getElementById('title').textContent = model.title;
        document.getElementById('facts').append(...[
            fact(duration(model.duration), 'long'),
            fact(grouped(model.calls.length), model.calls.length === 1 ? 'call' : 'calls'),
            failed ? fact(grouped(failed), 'failed') : null,
            fact(duration(critical.length), `critical path, ${percent(critical.length, model.duration)}`),
            fact(duration(model.waits.reduce((sum, wait) => sum + wait.end - wait.start, 0)), 'threads waited'),
            sums.time > 0 ? fact(percent(sums.hidden, sums.time),
                                 `of the sums over devices (${duration(sums.time)}) ran beside the backward pass`) : null,
        ].filter(Boolean));
        for (const queue of model.queues)
            if (queue.calls)
                document.getElementById('queues').append(
                    make('span', {className: 'queue', title: `busy ${duration(queue.busy)}, ${counted(queue.calls, 'call')}`},
                         `${queue.device} ${queue.name}`, make('meter', {max: Math.max(1, model.duration), value: queue.busy}),
                         make('b', {}, percent(queue.busy, model.duration))));
        const lost = document.getElementById('lost');
        lost.hidden = !model.lost;
        if (model.lost) lost.textContent = `${grouped(model.lost)} records were lost, for the trace's memory (${bytes(model.limit)}) was ` +
                           'used up: this picture is incomplete. More memory: hk_trace_options.memory_bytes.';
    }

    /* ---- the tip */

    showTip(hit, pointer, view) {
        const {tip, model} = this;
        tip.hidden = !hit || !!hit.group;
        if (tip.hidden) return;
        if (hit.slice) {
            const {call, piece, start, end} = hit.slice;
            tip.replaceChildren(make('h2', {}, swatch(this.painter.colourOf(call)), call.operation, make('small', {}, `#${call.sequence}`)),
                                factList([...callFacts(call, model), ['this piece', piece >= 0 &&
                                    `${piece}: ${exact(start, model)} to ${exact(end, model)}, ${duration(end - start)}`]]));
        } else if (hit.wait) {
            tip.replaceChildren(make('h2', {}, waitName(hit.wait)), factList(waitFacts(hit.wait, model)));
        } else {
            const {counter, index} = hit;
            tip.replaceChildren(make('h2', {}, `${counter.process} ${counter.name}`),
                                factList([['value', amount(counter.value[index], counter.unit)],
                                          ['since', exact(counter.time[index], model)]]));
        }
        const x = pointer.x + 16, y = pointer.y + 18;
        tip.style.left = tip.style.top = '0';
        tip.style.left = `${Math.max(0, x + tip.offsetWidth > view.width ? pointer.x - tip.offsetWidth - 12 : x)}px`;
        tip.style.top = `${Math.max(0, Math.min(y, view.height - tip.offsetHeight - 4))}px`;
    }

    /* ---- the panel */

    show(state) {
        if (state.call) this.showCall(state.call);
        else if (state.wait) this.showWait(state.wait);
        else if (state.isCritical) this.element.replaceChildren(this.links('Critical path', this.model.critical.calls));
        else this.showOperations();
        this.element.scrollTop = 0;
    }

    link(call) {
        return make('li', {}, make('button', {className: 'link', onclick: () => this.actions.selectCall(call)},
                                   swatch(this.painter.colourOf(call)), make('span', {className: 'name'}, call.operation),
                                   make('span', {className: 'more'}, `#${call.sequence} · ${call.queue.device} · ` +
                                                                     duration(call.end - call.start))));
    }

    links(title, calls) {
        const left = calls.length - MOST_LINKS;
        return make('div', {}, make('h2', {}, title, make('small', {}, `${calls.length || 'none'}`)),
                    make('ul', {}, ...calls.slice(0, MOST_LINKS).map(call => this.link(call)),
                         left > 0 ? make('li', {className: 'none'}, `and ${grouped(left)} more`) : null));
    }

    showCall(call) {
        this.element.replaceChildren(make('div', {className: 'columns'},
            make('div', {}, make('h2', {}, swatch(this.painter.colourOf(call)), call.operation, make('small', {}, `#${call.sequence}`)),
                 factList(callFacts(call, this.model))),
            this.links('Waits for', call.dependencies), this.links('Is waited for by', call.dependents)));
    }

    showWait(wait) {
        this.element.replaceChildren(make('div', {className: 'columns'},
            make('div', {}, make('h2', {}, waitName(wait)), factList(waitFacts(wait, this.model))),
            this.links('Ended by', wait.lastCall ? [wait.lastCall] : [])));
    }

    showOperations() {
        const {operations, calls} = this.model, left = operations.length - MOST_OPERATIONS;
        if (!calls.length) {
            this.element.replaceChildren(make('p', {className: 'none'}, 'Nothing was called while this was recorded.'));
            return;
        }
        const total = operations.reduce((sum, operation) => sum + operation.time, 0);
        const cells = (tag, values) => make('tr', {}, ...values.map(value => make(tag, {}, value)));
        const row = info => cells('td', [
            make('button', {className: 'link', title: 'Show where', onclick: () => this.actions.find(info.name)},
                 swatch(this.painter.colours[info.colour]), make('span', {className: 'name'}, info.name)),
            grouped(info.calls), duration(info.time), make('meter', {max: Math.max(1, operations[0].time), value: info.time}),
            percent(info.time, total), duration(info.time / info.calls), duration(info.longest), bytes(info.bytes)]);
        this.element.replaceChildren(make('table', {},
            make('thead', {}, cells('th', ['operation', 'calls', 'time', '', 'share', 'mean', 'longest', 'bytes'])),
            make('tbody', {}, ...operations.slice(0, MOST_OPERATIONS).map(row),
                 left > 0 ? cells('td', [`and ${grouped(left)} more`]) : null)));
    }
}
