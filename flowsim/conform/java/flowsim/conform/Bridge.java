package flowsim.conform;

import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.stream.Collectors;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import py4j.CallbackClient;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.PythonClient;
import py4j.reflection.PythonProxyHandler;

/** Calls from Java to Python, and what a function in Python asks for meanwhile, on the same thread. */
public final class Bridge {
    /** Set before a job is built. */
    public static volatile Python python;

    private static final ThreadLocal<Deque<Host>> HOSTS = ThreadLocal.withInitial(ArrayDeque::new);
    private static final Map<Long, ResultFuture<Long>> FUTURES = new ConcurrentHashMap<>();
    private static final AtomicLong FUTURE = new AtomicLong();

    private Bridge() {}

    static String call(Host host, long object, String what, long record, long timestamp, String more) {
        Deque<Host> hosts = HOSTS.get();
        hosts.push(host);
        try {
            String answer = python.call(object, what, record, timestamp, more);
            if (answer.startsWith("!")) {
                int end = answer.indexOf(' ');
                throw new PythonError(answer.substring(end + 1), Long.parseLong(answer.substring(1, end)));
            }
            return answer;
        } finally {
            hosts.pop();
        }
    }

    static List<Long> numbers(String text) {
        return text.isEmpty()
                ? new ArrayList<>()
                : Arrays.stream(text.split(",")).map(Long::valueOf).collect(Collectors.toCollection(ArrayList::new));
    }

    static String text(Iterable<Long> numbers) {
        StringBuilder text = new StringBuilder();
        for (Long number : numbers) {
            text.append(text.length() == 0 ? "" : ",").append(number);
        }
        return text.toString();
    }

    private static Host host() {
        Host host = HOSTS.get().peek();
        if (host == null) {
            throw new IllegalStateException("asked outside of a call");
        }
        return host;
    }

    /** Forgets a job that is over, and ends the connections of its threads: py4j keeps one of each that has called Python. */
    static void forgetJob() throws ReflectiveOperationException {
        FUTURES.clear();
        Gateway gateway =
                (Gateway) Conductor.field(PythonProxyHandler.class, Proxy.getInvocationHandler(python), "gateway");
        PythonClient client = (PythonClient) gateway.getCallbackClient();
        Lock lock = (Lock) Conductor.field(CallbackClient.class, client, "lock");
        Deque<?> connections = (Deque<?>) Conductor.field(CallbackClient.class, client, "connections");
        lock.lock();
        try {
            for (Object each : connections.toArray()) {
                if (each != client.getPerThreadConnection()) {
                    connections.remove(each);
                    ((ClientServerConnection) each).shutdown();
                }
            }
        } finally {
            lock.unlock();
        }
    }

    // What Python asks for.

    public static String state(String scope, String kind, String name, String method, String argument, long functions)
            throws Exception {
        return host().state(scope, kind, name, method, argument, functions);
    }

    public static String broadcast(String name, String method, String argument) throws Exception {
        return host().broadcast(name, method, argument);
    }

    public static String visited(String method, String argument) throws Exception {
        return host().visited(method, argument);
    }

    public static void forEachKey(String kind, String name, long functions, long visitor) throws Exception {
        host().forEachKey(kind, name, functions, visitor);
    }

    public static void timer(String method, long timestamp) {
        switch (method) {
            case "register_event_time_timer":
                host().timers().registerEventTimeTimer(timestamp);
                break;
            case "delete_event_time_timer":
                host().timers().deleteEventTimeTimer(timestamp);
                break;
            case "register_processing_time_timer":
                host().timers().registerProcessingTimeTimer(timestamp);
                break;
            default:
                host().timers().deleteProcessingTimeTimer(timestamp);
        }
    }

    public static long watermark() {
        return host().watermark();
    }

    public static long processingTime() {
        return host().processingTime();
    }

    // Asynchronous calls.

    static long keep(ResultFuture<Long> future) {
        long number = FUTURE.incrementAndGet();
        FUTURES.put(number, future);
        return number;
    }

    public static void complete(long future, String results) {
        ifItStillRuns(() -> FUTURES.get(future).complete(numbers(results)));
    }

    public static void completeExceptionally(long future, String message, long error) {
        ifItStillRuns(() -> FUTURES.get(future).completeExceptionally(new PythonError(message, error)));
    }

    /** A task that has ended takes no answers. */
    private static void ifItStillRuns(Runnable answer) {
        try {
            answer.run();
        } catch (RejectedExecutionException taskHasEnded) {
            // The answer is lost, as that of any thread is.
        }
    }

    /** Calls the method {@code answer} of a Python object after this virtual time. */
    public static void after(long nanos, long answer) {
        ManualTime.after(nanos, () -> call(new Host() {}, answer, "answer", 0, 0, ""));
    }

    public static long nowNanos() {
        return ManualTime.nowNanos();
    }
}
