package flowsim.conform;

import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.streaming.api.TimerService;

/** What a function may ask Flink for while it is called; each kind of function has some of it. */
public interface Host {
    /** The keyed states of a scope: the key, or of a window function {@code window} or {@code global}. */
    default KeyedStateStore states(String scope) throws Exception {
        throw new UnsupportedOperationException("no keyed state");
    }

    /** Calls a method of a keyed state. */
    default String state(String scope, String kind, String name, String method, String argument, long functions)
            throws Exception {
        return States.call(states(scope), kind, name, method, argument, functions);
    }

    default TimerService timers() {
        throw new UnsupportedOperationException("no timers");
    }

    default long watermark() {
        return timers().currentWatermark();
    }

    default long processingTime() {
        return timers().currentProcessingTime();
    }

    /** Calls a method of a broadcast state. */
    default String broadcast(String name, String method, String argument) throws Exception {
        throw new UnsupportedOperationException("no broadcast state");
    }

    /** Calls {@code visit} of a Python object for every key that has the state. */
    default void forEachKey(String kind, String name, long functions, long visitor) throws Exception {
        throw new UnsupportedOperationException("no access to the state of all keys");
    }

    /** Calls a method of the state of the key that {@code forEachKey} visits. */
    default String visited(String method, String argument) throws Exception {
        throw new UnsupportedOperationException("no key is visited");
    }
}
