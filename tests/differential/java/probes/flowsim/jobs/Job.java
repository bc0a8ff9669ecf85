package flowsim.jobs;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * One whole job that the tests compare. A new one is a new class of this package: the tests name it, and nothing else
 * has to know it. Its functions tell {@link Log} what happens.
 */
public interface Job {
    /** Adds sources, operators and sinks; parallelism is 1 unless set. */
    void build(StreamExecutionEnvironment env, JsonNode parameters) throws Exception;

    /** What is done to the job while it runs, such as stopping it; the default only waits for its end. */
    default void drive(MiniCluster cluster, JobID job, JsonNode parameters) throws Exception {}
}
