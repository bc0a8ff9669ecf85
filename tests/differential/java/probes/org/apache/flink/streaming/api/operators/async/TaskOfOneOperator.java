package org.apache.flink.streaming.api.operators.async;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.function.Consumer;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobInfo;
import org.apache.flink.api.common.JobInfoImpl;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.TaskInfoImpl;
import org.apache.flink.api.common.typeutils.base.LongValueSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.accumulators.AccumulatorRegistry;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.DefaultOperatorStateBackendBuilder;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.taskmanager.TaskManagerRuntimeInfo;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorStateContext;
import org.apache.flink.streaming.api.operators.StreamOperatorStateHandler;
import org.apache.flink.streaming.runtime.tasks.OneInputStreamTask;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.util.SimpleUserCodeClassLoader;

/** What an operator asks of its task when it is built, and its operator state; the task itself never runs. */
final class TaskOfOneOperator {
    private static final ClassLoader LOADER = TaskOfOneOperator.class.getClassLoader();

    final StreamTask<?, ?> task;
    final StreamConfig config = new StreamConfig(new Configuration());
    final OperatorStateBackend state;
    private final ExecutionConfig execution = new ExecutionConfig();
    private final Consumer<Throwable> failure;

    TaskOfOneOperator(boolean objectReuse, Consumer<Throwable> failure) throws Exception {
        this.failure = failure;
        if (objectReuse) {
            execution.enableObjectReuse();
        }
        state =
                new DefaultOperatorStateBackendBuilder(
                                LOADER, execution, false, Collections.emptyList(), new CloseableRegistry())
                        .build();
        config.setOperatorID(new OperatorID());
        config.setOperatorName("async");
        config.setupNetworkInputs(LongValueSerializer.INSTANCE);
        config.serializeAllConfigs();
        Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        task = (StreamTask<?, ?>) ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(OneInputStreamTask.class);
        set(StreamTask.class, task, "environment", proxy(Environment.class, this::environment));
    }

    private Object environment(Object proxy, java.lang.reflect.Method method, Object[] arguments) throws Exception {
        switch (method.getName()) {
            case "failExternally":
                failure.accept((Throwable) arguments[0]);
                return null;
            case "getExecutionConfig":
                return execution;
            case "getJobConfiguration":
            case "getTaskConfiguration":
                return new Configuration();
            case "getMetricGroup":
                return UnregisteredMetricGroups.createUnregisteredTaskMetricGroup();
            case "getTaskManagerInfo":
                return proxy(TaskManagerRuntimeInfo.class, (p, m, a) -> new Configuration());
            case "getAccumulatorRegistry":
                return new AccumulatorRegistry(new JobID(), ExecutionAttemptID.randomId());
            case "getJobInfo":
                return (JobInfo) new JobInfoImpl(new JobID(), "job");
            case "getTaskInfo":
                return (TaskInfo) new TaskInfoImpl("async", 1, 0, 1, 0);
            case "getUserCodeClassLoader":
                return SimpleUserCodeClassLoader.create(LOADER);
            case "getDistributedCacheEntries":
                return Collections.emptyMap();
            case "getExternalResourceInfoProvider":
                return null;
            default:
                throw new UnsupportedOperationException(method.getName());
        }
    }

    /** Gives the operator its state, as a task does before it opens it. */
    void initializeState(AbstractStreamOperator<?> operator) throws Exception {
        StreamOperatorStateContext context =
                proxy(
                        StreamOperatorStateContext.class,
                        (proxy, method, arguments) -> "operatorStateBackend".equals(method.getName()) ? state : null);
        set(
                AbstractStreamOperator.class, operator, "stateHandler",
                new StreamOperatorStateHandler(context, execution, new CloseableRegistry()));
        operator.initializeState(
                proxy(
                        StateInitializationContext.class,
                        (proxy, method, arguments) -> "getOperatorStateStore".equals(method.getName()) ? state : false));
    }

    static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(LOADER, new Class<?>[] {type}, handler));
    }

    static void set(Class<?> type, Object target, String name, Object value) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.set(target, value);
    }

    static Object get(Class<?> type, Object target, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(target);
    }
}
